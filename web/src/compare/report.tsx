/** What is different between two variants: in the scenarios, in the results, and in where the time went. */
import { nanoseconds, percent } from "../rig/words.ts";
import { type Difference, differenceOf } from "../state/difference.ts";
import { type Comparison, compared } from "./comparison.ts";
import { type Moved, inShort, limiters, movedOf, movedUses } from "./moved.ts";
import { type Whole, answerOf } from "./state.ts";

/** Rows of a table that are shown at once. */
const MOST_ROWS = 14;

export function Report({ a, b }: { a: Whole; b: Whole }) {
  const comparison = compared(a.results, b.results);
  const { moved, still } = movedOf(a.results, b.results, comparison);
  const only = [["A", comparison.links_only_in_a] as const, ["B", comparison.links_only_in_b] as const];
  return (
    <div class="report">
      <div class="in-short" role="status" id="in-short">
        <p>
          <strong>{inShort(answerOf(a), answerOf(b))}</strong>
        </p>
        <p id="limiters">{limiters(a.results, b.results)}</p>
        {only.map(([letter, links]) => links.length > 0 && <p key={letter}>Only {letter} has {links.length === 1 ? "the link" : "the links"} {links.join(", ")}.</p>)}
      </div>
      <Different difference={differenceOf(a.explained, b.explained)} isSameText={a.text === b.text} />
      <MovedTable id="moved-table" caption="What moved, the largest change first" rows={moved} />
      {moved.length === 0 && <p>No number moved by half a percent, which is how well they are known.</p>}
      {still.length > 0 && (
        <details>
          <summary>What did not move by half a percent: {still.length}</summary>
          <MovedTable id="still-table" caption="What did not move" rows={still} />
        </details>
      )}
      <Times comparison={comparison} />
      <Uses a={a} b={b} />
    </div>
  );
}

function Different({ difference, isSameText }: { difference: Difference; isSameText: boolean }) {
  const { values, links, onlyBefore, onlyAfter } = difference;
  const [chosen, follows] = [values.filter((each) => !each.follows), values.filter((each) => each.follows)];
  const only = [["A", onlyBefore] as const, ["B", onlyAfter] as const].filter(([, owners]) => owners.length > 0);
  if (isSameText || (values.length === 0 && only.length === 0 && links.length === 0)) {
    return <p id="different">{isSameText ? "The texts are the same. Edit the text: that is B." : "The texts mean the same machine and the same load."}</p>;
  }
  return (
    <div id="different">
      {chosen.length > 0 && <Values caption="What is different in the scenarios" name="Setting" rows={chosen.map((each) => [each.path, each.before, each.after])} />}
      {only.map(([letter, owners]) => (
        <p key={letter}>
          Only {letter} has {owners.slice(0, MOST_ROWS).map(([owner, count]) => `${owner} (${count} ${count === 1 ? "setting" : "settings"})`).join(", ")}
          {owners.length > MOST_ROWS && ` and ${owners.length - MOST_ROWS} more`}.
        </p>
      ))}
      {links.length > 0 && <Values caption="Links that came up differently" name="Link" rows={links.map((each) => [each.name, each.before, each.after])} />}
      {follows.length > 0 && (
        <details>
          <summary>What follows from it: {follows.length} values that are worked out</summary>
          <Values caption="What follows from it" name="Setting" rows={follows.map((each) => [each.path, each.before, each.after])} />
        </details>
      )}
    </div>
  );
}

function Values({ caption, name, rows }: { caption: string; name: string; rows: [string, string, string][] }) {
  return (
    <div class="table-scroll" tabindex={0} role="group" aria-label={caption}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            <th scope="col">{name}</th>
            <th scope="col">A</th>
            <th scope="col">B</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([path, before, after]) => (
            <tr key={path}>
              <th scope="row">
                <code>{path}</code>
              </th>
              <td>{before}</td>
              <td>{after}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function MovedTable({ id, caption, rows }: { id: string; caption: string; rows: Moved[] }) {
  if (rows.length === 0) return null;
  const [first, more] = [rows.slice(0, MOST_ROWS), rows.slice(MOST_ROWS)];
  const table = (shown: Moved[], own: string | undefined, title: string) => (
    <div class="table-scroll" tabindex={0} role="group" aria-label={title}>
      <table id={own}>
        <caption>{title}</caption>
        <thead>
          <tr>
            <th scope="col">Of</th>
            <th scope="col">What</th>
            <th scope="col">A</th>
            <th scope="col">B</th>
            <th scope="col">B over A</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <tr key={`${row.what} ${row.of}`}>
              <th scope="row">{row.of}</th>
              <td>{row.what}</td>
              <td class="number">{row.a}</td>
              <td class="number">{row.b}</td>
              <td class="number">
                <Ratio of={row} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
  return (
    <>
      {table(first, id, caption)}
      {more.length > 0 && (
        <details>
          <summary>{more.length} more</summary>
          {table(more, undefined, `${caption}: the others`)}
        </details>
      )}
    </>
  );
}

/** The ratio, and a bar of its size: to the right for more, to the left for less. */
function Ratio({ of: { ratio, size } }: { of: Moved }) {
  if (ratio === null) return <>–</>;
  const part = Math.min(50, (50 * size) / Math.log(4));
  return (
    <span class="ratio">
      {ratio.toFixed(3)}
      <span class="track" aria-hidden="true">
        <span class={ratio > 1 ? "more" : "less"} style={{ width: `${part}%` }} />
      </span>
    </span>
  );
}

function Times({ comparison }: { comparison: Comparison }) {
  const rows = comparison.time_attribution_changes;
  if (rows.length === 0) return null;
  const shown = rows.slice(0, MOST_ROWS);
  return (
    <details>
      <summary>Where the time of the wires went instead</summary>
      <div class="table-scroll" tabindex={0} role="group" aria-label="Where the time went instead">
        <table id="times-table">
          <caption>Shares of each direction that both have, in percent of its time: the direction that changed most first</caption>
          <thead>
            <tr>
              <th scope="col">Link</th>
              <th scope="col">Direction</th>
              <th scope="col">Use of its time</th>
              <th scope="col">A, %</th>
              <th scope="col">B, %</th>
              <th scope="col">Change, points</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr key={`${row.link} ${row.direction} ${row.category}`}>
                <th scope="row">{row.link}</th>
                <td>{row.direction}</td>
                <td>{row.category.replaceAll("_", " ")}</td>
                <td class="number">{row.a_percent.toFixed(1)}</td>
                <td class="number">{row.b_percent.toFixed(1)}</td>
                <td class="number">
                  {row.change_points > 0 ? "+" : "−"}
                  {Math.abs(row.change_points).toFixed(1)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > shown.length && <p class="legend">{rows.length - shown.length} smaller ones are in the JSON.</p>}
    </details>
  );
}

function Uses({ a, b }: { a: Whole; b: Whole }) {
  const uses = movedUses(a.results, b.results).slice(0, MOST_ROWS);
  if (uses.length === 0) return null;
  const said = (use: number | null): string => (use === null ? "–" : percent(use));
  return (
    <details>
      <summary>Shared resources whose use moved: {uses.length}</summary>
      <div class="table-scroll" tabindex={0} role="group" aria-label="Shared resources whose use moved">
        <table>
          <caption>Shared resources whose use moved, and how long each request waited for them</caption>
          <thead>
            <tr>
              <th scope="col">Resource</th>
              <th scope="col">A in use</th>
              <th scope="col">B in use</th>
              <th scope="col">A waits</th>
              <th scope="col">B waits</th>
            </tr>
          </thead>
          <tbody>
            {uses.map((use) => (
              <tr key={use.name}>
                <th scope="row">{use.name}</th>
                <td class="number">{said(use.a)}</td>
                <td class="number">{said(use.b)}</td>
                <td class="number">{nanoseconds(use.aWait)}</td>
                <td class="number">{nanoseconds(use.bWait)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
