/** One or two parameters, and what they do to a number. */
import { span, whole } from "../rig/words.ts";
import { fileName, isSound } from "../state/store.ts";
import { save } from "../views/files.tsx";
import { AxisChoice } from "./axis.tsx";
import { csvOf } from "./csv.ts";
import { MOST_POINTS } from "./grid.ts";
import { Line } from "./line.tsx";
import { HeatMap } from "./map.tsx";
import { type Metric, TOTAL, metricsOf, titleOf } from "./metrics.ts";
import { PointView } from "./point.tsx";
import { limitersOf } from "./points.ts";
import { PointTable } from "./table.tsx";
import { axes, count, found, isOutdated, isTooMany, isUnknown, left, metric, paths, progress, rows, start, stop, workers } from "./state.ts";

export function ExploreTab() {
  return (
    <section class="panel explore" aria-label="Explore one or two parameters">
      <p class="legend" id="explore-words">
        Choose parameters and values of each: every combination is simulated, with the text in the editor for all else.
      </p>
      <AxisChoice index={0} />
      {axes.value.length > 0 && <AxisChoice index={1} />}
      <MetricChoice />
      <Bar />
      {isOutdated.value && (
        <p class="warn" id="explore-outdated" role="status">
          The text has changed since these points were computed: they are of the older one. <em>Compute</em> computes them anew.
        </p>
      )}
      {axes.value.length > 0 && (
        <div class={`explored ${isOutdated.value ? "old" : ""}`}>
          <PointView />
          {found.value.size > 0 && (
            <>
              {axes.value.length > 1 ? <HeatMap /> : <Line />}
              <Failures />
              <PointTable />
            </>
          )}
        </div>
      )}
      <datalist id="explore-paths">
        {paths.value.map((path) => (
          <option key={path} value={path} />
        ))}
      </datalist>
    </section>
  );
}

function MetricChoice() {
  const digest = rows.value.flatMap(({ found }) => (found?.state === "done" ? [found.digest] : []))[0];
  const all = digest ? metricsOf(digest) : [TOTAL];
  const known = all.some((each) => keyOf(each) === keyOf(metric.value)) ? all : [...all, metric.value];
  return (
    <label class="metric">
      Look at{" "}
      <select id="explore-metric" value={keyOf(metric.value)} onChange={(event) => (metric.value = known[event.currentTarget.selectedIndex] ?? TOTAL)}>
        {known.map((each) => (
          <option key={keyOf(each)} value={keyOf(each)}>
            {titleOf(each)}
          </option>
        ))}
      </select>
      {!digest && <span class="legend">More to look at once a point is computed.</span>}
    </label>
  );
}

function keyOf({ quantity, of }: Metric): string {
  return `${quantity} ${of}`;
}

function Bar() {
  const now = progress.value;
  const isGoing = now?.isGoing === true;
  const limits = limitersOf(rows.value).length;
  return (
    <div class="run-bar" role="toolbar" aria-label="Compute the points">
      {!isGoing && (
        <button class="main" id="explore-start" disabled={!isSound.value || isTooMany.value || isUnknown.value || count.value === 0} onClick={() => void start()}>
          Compute {count.value} {count.value === 1 ? "point" : "points"}
        </button>
      )}
      {isGoing && (
        <button class="main" id="explore-stop" onClick={stop}>
          Stop
        </button>
      )}
      <button id="explore-csv" disabled={limits === 0} onClick={() => save(fileName.value.replace(/(\.toml)?$/, ".csv"), "text/csv", csvOf(axes.value, metric.value, rows.value))}>
        Save as CSV
      </button>
      {!isGoing && workers.value > 0 && (
        <button id="explore-end" onClick={stop} title="They take memory, and end by themselves after a minute without work.">
          End {workers.value} idle {workers.value === 1 ? "simulator" : "simulators"}
        </button>
      )}
      <p class="clock" id="explore-progress" role="status" aria-live={isGoing ? "off" : "polite"}>
        {isTooMany.value && (
          <strong class="warn">
            {whole(count.value)} points are more than the {MOST_POINTS} that are computed at most: choose fewer values.
          </strong>
        )}
        {now && (
          <>
            {isGoing && <progress max={now.all} value={now.done} aria-label="Points that are computed" />} {now.done} of {now.all} points
            {isGoing && `, ${workers.value} at a time`}
            {isGoing && left.value !== null && `, about ${roughly(left.value)} left`}
            {!isGoing && ` computed in ${span(now.seconds)}.`}
          </>
        )}
      </p>
    </div>
  );
}

function roughly(seconds: number): string {
  return seconds < 100 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} minutes`;
}

/** What could not be simulated, with the core's words: points of the same words together. */
function Failures() {
  const failed = rows.value.flatMap(({ point, found }) => (found?.state === "failed" ? [{ words: found.words, at: point.overrides.map(([, value]) => value).join(", ") }] : []));
  if (failed.length === 0) return null;
  return (
    <div id="explore-failures">
      <h2>
        {failed.length} {failed.length === 1 ? "point cannot" : "points cannot"} be simulated
      </h2>
      <ul class="mistakes">
        {[...Map.groupBy(failed, (each) => each.words)].map(([words, points]) => (
          <li class="mistake" key={words}>
            At {points.map((each) => each.at).slice(0, 8).join("; ")}
            {points.length > 8 && ` and ${points.length - 8} more`}: {words}
          </li>
        ))}
      </ul>
    </div>
  );
}
