/** All points as a table: for who does not see the picture, and for numbers. */
import { QUANTITIES, valueOf } from "./metrics.ts";
import { limiterOf } from "./points.ts";
import { axes, choose, metric, rows } from "./state.ts";

export function PointTable() {
  const { say } = QUANTITIES[metric.value.quantity];
  return (
    <details>
      <summary>The points as a table</summary>
      <div class="table-scroll tall" tabindex={0} role="group" aria-label="Table of points">
        <table id="explore-table">
          <thead>
            <tr>
              {axes.value.map(({ path }) => (
                <th scope="col" key={path}>
                  {path}
                </th>
              ))}
              <th scope="col">{QUANTITIES[metric.value.quantity].words}</th>
              <th scope="col">Limited by</th>
              <th scope="col">Fingerprint</th>
            </tr>
          </thead>
          <tbody>
            {rows.value.map(({ point, found }) => {
              const digest = found?.state === "done" ? found.digest : null;
              const value = digest && valueOf(metric.value, digest);
              return (
                <tr key={point.at.join()} onClick={() => choose(point.at)}>
                  {point.overrides.map(([path, text]) => (
                    <td key={path}>{text}</td>
                  ))}
                  <td class="number">{value !== null ? say(value) : found?.state === "failed" ? "cannot be simulated" : "–"}</td>
                  <td>{digest ? limiterOf(digest) : ""}</td>
                  <td>
                    <code>{digest?.fingerprint ?? ""}</code>
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </details>
  );
}
