/** The efficiency ladder as a picture with its numbers: of a lesson, beside what it was before an edit, and of any link of a run. */
import { rate } from "../rig/words.ts";
import type { Rung } from "./ladder.ts";

interface Of {
  id: string;
  caption: string;
  rungs: Rung[];
  /** The same steps before an edit; a frame around each bar. */
  before?: Rung[] | null;
  /** With a sentence for each step. */
  isExplained?: boolean;
}

export function Ladder({ id, caption, rungs, before = null, isExplained = false }: Of) {
  const widest = Math.max(...[...rungs, ...(before ?? [])].map(({ left }) => left));
  const part = (left: number): string => `${(100 * left) / widest}%`;
  const was = (key: string): Rung | undefined => before?.find((rung) => rung.key === key);
  // What is sent again is a step of links with errors.
  const shown = rungs.filter((rung) => rung.key !== "replays" || rung.cost > 0 || (was("replays")?.cost ?? 0) > 0);
  return (
    <table class="ladder" id={id}>
      <caption>{caption}</caption>
      <thead>
        <tr>
          <th scope="col">Step</th>
          <th scope="col">Left</th>
          {before && <th scope="col">As it was</th>}
        </tr>
      </thead>
      <tbody>
        {shown.map(({ key, name, left, cost, sentence }) => (
          <tr key={key} data-step={key}>
            <th scope="row">
              {name} {cost > 0 && <small>{rate(cost)} less</small>}
              <span class="track" aria-hidden="true">
                {before && <span class="was" style={{ width: part(was(key)?.left ?? 0) }} />}
                {cost > 0 && <span class="lost" style={{ width: part(left + cost) }} />}
                <span class="bar" style={{ width: part(left) }} />
              </span>
              {isExplained && <span class="because">{sentence}</span>}
            </th>
            <td class="number">{rate(left)}</td>
            {before && <td class="number">{rate(was(key)?.left)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
