/** Where time went, of each direction of each link and of each requester: bars, and their numbers as tables behind them. */
import type { Results } from "lanewise";
import { cause, percent } from "../rig/words.ts";
import { type Spent, called, inOrder, kindOf, ofLinks, ofRequesters, spelled, state } from "./uses.ts";

/** Bars that are shown; the tables have all. */
const MOST = 12;
/** Parts that stand beside a bar in words. */
const NAMED = 3;
const LEAST = 0.0005;

export function Times({ results }: { results: Results }) {
  return (
    <div class="two">
      <Bars id="time-of-links" title="Where the time of each link direction went" all={ofLinks(results)} words={cause} />
      <Bars id="time-of-requesters" title="What held the requesters back" all={ofRequesters(results)} words={state} />
    </div>
  );
}

function Bars({ id, title, all, words }: { id: string; title: string; all: Spent[]; words: (use: string) => string }) {
  if (all.length === 0) return null;
  const shown = all.slice(0, MOST);
  const silent = [...new Set(shown.flatMap(({ shares }) => inOrder(shares).filter(([use, share]) => share >= 0.01 && isSilent(use)).map(([use]) => use)))];
  return (
    <section id={id} class="times" aria-label={title}>
      <h3>{title}</h3>
      <ul>
        {shown.map((spent) => (
          <li key={nameOf(spent)}>
            <span class="component">{nameOf(spent)}</span>
            <span class="stack" aria-hidden="true">
              {inOrder(spent.shares).map(([use, share]) => (
                <span key={use} class={`use-${kindOf(use)}`} style={{ width: `${share * 100}%` }} title={`${spelled(use)} ${percent(share)}`} />
              ))}
            </span>
            <span class="parts">{largest(spent)}</span>
          </li>
        ))}
      </ul>
      {all.length > MOST && <p class="legend">{all.length - MOST} less busy are in the table.</p>}
      {silent.length > 0 && <p class="legend">{silent.map((use) => `${capital(spelled(use))}: ${words(use)}`).join("; ")}.</p>}
      <details>
        <summary>As a table</summary>
        <div class="table-scroll" tabindex={0} role="group" aria-label={`Table: ${title}`}>
          <table>
            <thead>
              <tr>
                <th scope="col">Component</th>
                <th scope="col">What</th>
                <th scope="col">Part of the time</th>
              </tr>
            </thead>
            <tbody>
              {all.flatMap((spent) =>
                inOrder(spent.shares).map(([use, share], index) => (
                  <tr key={`${nameOf(spent)} ${use}`}>
                    <th scope="row">{index === 0 ? nameOf(spent) : <span class="again">{nameOf(spent)}</span>}</th>
                    <td>{spelled(use)}</td>
                    <td class="number">{(share * 100).toFixed(2)} %</td>
                  </tr>
                )),
              )}
            </tbody>
          </table>
        </div>
      </details>
    </section>
  );
}

function nameOf({ names, way }: Spent): string {
  return way ? `${called(names)}, ${way}` : called(names);
}

/** The largest parts in words: no colours need to be told apart. */
function largest({ shares }: Spent): string {
  return Object.entries(shares)
    .filter(([, share]) => share >= LEAST)
    .sort((one, other) => other[1] - one[1])
    .slice(0, NAMED)
    .map(([use, share]) => `${spelled(use)} ${percent(share)}`)
    .join(", ");
}

function isSilent(use: string): boolean {
  return ["idle", "blocked"].includes(kindOf(use)) || use === "port";
}

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
