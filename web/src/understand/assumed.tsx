/** Values that no specification fixes and that the result may rest on: each can be varied, and says what it moves. */
import { signal } from "@preact/signals";
import type { Results } from "lanewise";
import { type Candidate, thatMayMatter } from "./assumptions.ts";
import { change, changed, slower } from "./measure.ts";
import { type Trial, isTrying, stopTrying, variedTo, vary } from "./trials.ts";

/** Values that are shown before more are asked for. */
const FIRST = 8;
const showsAll = signal(false);

export function Assumed({ results }: { results: Results }) {
  const all = thatMayMatter(results);
  const shown = showsAll.value ? all : all.slice(0, FIRST);
  const known = results.assumptions.length;
  return (
    <section aria-labelledby="assumed">
      <h2 id="assumed">What is assumed?</h2>
      {all.length === 0 ? (
        <p>No value on the path of the data is assumed.</p>
      ) : (
        <>
          <p>
            {known} values in force are fixed by no specification for this rig. These are numbers of what the data went through, what limits it first. Vary one by 20 % both ways (sizes that are powers of two are halved and doubled), and see what it moves.
          </p>
          <div class="table-scroll" tabindex={0} role="group" aria-label="Table of assumptions">
            <table class="assumptions">
              <thead>
                <tr>
                  <th scope="col">Value</th>
                  <th scope="col">In force</th>
                  <th scope="col">What it moves</th>
                </tr>
              </thead>
              <tbody>
                {shown.map((candidate) => (
                  <Row key={candidate.paths[0]} candidate={candidate} before={results} />
                ))}
              </tbody>
            </table>
          </div>
          <p class="row start">
            <button id="vary-all" onClick={() => shown.forEach(vary)}>
              Vary all of these
            </button>
            {isTrying.value && <button onClick={stopTrying}>Stop</button>}
            {all.length > FIRST && <button onClick={() => (showsAll.value = !showsAll.value)}>{showsAll.value ? "Show fewer" : `Show all ${all.length}`}</button>}
          </p>
        </>
      )}
    </section>
  );
}

function Row({ candidate, before }: { candidate: Candidate; before: Results }) {
  const { paths, value, provenance, source, lower, higher } = candidate;
  const ways = [...new Set([lower, higher])].filter((each) => each !== value);
  const trials = ways.map((each) => [each, variedTo(candidate, each)] as const);
  const isAsked = trials.every(([, trial]) => trial !== null && trial.kind !== "refused");
  return (
    <tr data-path={paths[0]}>
      <th scope="row">
        <code>{paths[0]}</code>
        {paths.length > 1 && <small> and {paths.length - 1} alike</small>}
        <small class="source">
          {provenance}: {source}
        </small>
      </th>
      <td class="number">{value}</td>
      <td>
        <div role="status">
          {trials.map(([each, trial]) => (
            <Moved key={each} value={each} trial={trial} before={before} />
          ))}
        </div>
        {!isAsked && (
          <button aria-label={`± to ${ways.join(", ")}: ${paths[0]}`} onClick={() => vary(candidate)}>
            ± to {ways.join(", ")}
          </button>
        )}
      </td>
    </tr>
  );
}

function Moved({ value, trial, before }: { value: string; trial: Trial | null; before: Results }) {
  if (!trial) return null;
  if (trial.kind === "waits") return <p>{value}: it is simulated…</p>;
  if (trial.kind === "refused") return <p class="refused">{value}: {trial.reason}</p>;
  const { what, ratio } = changed(before, trial.measured);
  const [moved, latency] = [ratio, slower(before, trial.measured)].map(change);
  if (moved === "nothing" && ["nothing", "–"].includes(latency ?? "")) return <p>{value}: moves nothing</p>;
  return (
    <p>
      {value}: {what} {moved === "nothing" ? (what === "payload" ? "stays" : "stay") : moved}, mean latency {latency === "nothing" ? "stays" : latency}
    </p>
  );
}
