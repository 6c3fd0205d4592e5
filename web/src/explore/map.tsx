/** Two parameters: a map of a number, or of what limits. The first goes to the right, the second upwards. */
import { signal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { QUANTITIES, titleOf, valueOf } from "./metrics.ts";
import { type Limiter, NOTHING, type PointRow, isEarly, limiterOf, limitersOf, saidOf } from "./points.ts";
import { colourAt, css, inkOn, scaleOf } from "./scale.ts";
import { axes, choose, chosen, metric, rows } from "./state.ts";

/** What the map is coloured by. */
const shows = signal<"value" | "limiter">("value");
/** The point under the pointer. */
const under = signal<PointRow | null>(null);

/** Columns up to which cells have room for their numbers. */
const MOST_WITH_NUMBERS = 7;
/** Patterns that can be told apart; from there on the letters tell. */
const PATTERNS = 6;
const LEGEND_STEPS = 12;

type Scale = ReturnType<typeof scaleOf>;

export function HeatMap() {
  const [across, up] = axes.value;
  const body = useRef<HTMLTableSectionElement>(null);
  if (!across || !up) return null;
  const all = rows.value;
  const scale = scaleOf(all.map(valueIn).filter((value) => value !== null));
  const limiters = limitersOf(all);
  const [column = 0, row = 0] = chosen.value;
  const go = (to: [number, number]): void => {
    choose(to);
    body.current?.querySelector<HTMLElement>(`[data-at="${to.join()}"]`)?.focus();
  };
  const keys: Record<string, [number, number]> = {
    ArrowRight: [Math.min(column + 1, across.values.length - 1), row],
    ArrowLeft: [Math.max(column - 1, 0), row],
    ArrowUp: [column, Math.min(row + 1, up.values.length - 1)],
    ArrowDown: [column, Math.max(row - 1, 0)],
    Home: [0, row],
    End: [across.values.length - 1, row],
  };
  return (
    <figure class="heat-plot">
      <figcaption>
        {shows.value === "value" ? titleOf(metric.value) : "Limited by"}: to the right <code>{across.path}</code>, upwards <code>{up.path}</code>
      </figcaption>
      <label>
        Coloured by{" "}
        <select id="map-shows" value={shows.value} onChange={(event) => (shows.value = event.currentTarget.value as "value" | "limiter")}>
          <option value="value">{QUANTITIES[metric.value.quantity].words}</option>
          <option value="limiter">what limits</option>
        </select>
      </label>
      <div class="table-scroll" tabindex={0} role="group" aria-label="Map of the points">
        <table class="heat" role="grid" aria-label={`${titleOf(metric.value)} over ${across.path} and ${up.path}`} onPointerLeave={() => (under.value = null)}>
          <tbody ref={body}>
            {up.values
              .map((value, index) => ({ value, index }))
              .reverse()
              .map(({ value, index }) => (
                <tr key={value} role="row">
                  <th scope="row" role="rowheader">
                    {value}
                  </th>
                  {all.slice(index * across.values.length, (index + 1) * across.values.length).map((each) => (
                    <Cell key={each.point.at.join()} row={each} scale={scale} limiters={limiters} isChosen={each.point.at.join() === `${column},${row}`} onKey={(key) => keys[key]} go={go} />
                  ))}
                </tr>
              ))}
            <tr role="row">
              <td role="gridcell" />
              {across.values.map((value) => (
                <th key={value} scope="col" role="columnheader">
                  {value}
                </th>
              ))}
            </tr>
          </tbody>
        </table>
      </div>
      <p id="map-under" class="legend">
        {under.value ? words(under.value) : "The pointer on a cell, or the arrow keys in the map, say its numbers; a click moves the sliders there."}
      </p>
      {shows.value === "value" && scale && <Legend scale={scale} />}
      <ul class="limiters" id="map-limiters" aria-label="Limited by">
        {limiters.map((limiter, index) => (
          <li key={limiter.name}>
            <span class={`limiter-mark ${shows.value === "limiter" ? patternOf(index) : ""}`}>
              <strong class="limiter-letter">{limiter.letter}</strong>
            </span>{" "}
            {limiter.name === NOTHING ? NOTHING : limiter.name}, at {limiter.count} {limiter.count === 1 ? "point" : "points"}
          </li>
        ))}
      </ul>
    </figure>
  );
}

interface CellOf {
  row: PointRow;
  scale: Scale;
  limiters: Limiter[];
  isChosen: boolean;
  onKey(key: string): [number, number] | undefined;
  go(to: [number, number]): void;
}

function Cell({ row, scale, limiters, isChosen, onKey, go }: CellOf) {
  const { point, found } = row;
  const value = valueIn(row);
  const place = found?.state === "done" ? limiters.findIndex(({ name }) => name === limiterOf(found.digest)) : -1;
  const isValue = shows.value === "value";
  const colour = isValue && scale && value !== null ? colourAt(scale.part(value)) : null;
  const kind = found?.state === "failed" ? "failed" : found?.state === "under way" ? "under-way" : found?.state === "done" ? (isValue ? "" : patternOf(place)) : "missing";
  const hasNumbers = (axes.value[0]?.values.length ?? 0) <= MOST_WITH_NUMBERS;
  return (
    <td
      role="gridcell"
      class={`${kind} ${isChosen ? "chosen" : ""}`}
      style={colour ? { background: css(colour), color: inkOn(colour) } : undefined}
      tabindex={isChosen ? 0 : -1}
      data-at={point.at.join()}
      aria-label={words(row)}
      aria-selected={isChosen}
      onClick={() => go([point.at[0] ?? 0, point.at[1] ?? 0])}
      onPointerEnter={() => (under.value = row)}
      onKeyDown={(event) => {
        const to = onKey(event.key);
        if (!to) return;
        event.preventDefault();
        go(to);
      }}
    >
      {hasNumbers && isValue && value !== null && <span class="number">{QUANTITIES[metric.value.quantity].say(value)}</span>}
      {found?.state === "failed" && "✕"}
      {found?.state === "done" && isEarly(found.digest) && "!"}
      {place >= 0 && (limiters.length > 1 || !isValue) && <span class={isValue ? "letter" : "limiter-letter"}>{limiters[place]?.letter}</span>}
    </td>
  );
}

/** Colours from the least to the most, with their numbers. */
function Legend({ scale }: { scale: NonNullable<Scale> }) {
  const { say } = QUANTITIES[metric.value.quantity];
  const stops = Array.from({ length: LEGEND_STEPS + 1 }, (_, index) => css(colourAt(index / LEGEND_STEPS)));
  if (scale.least === scale.most) return <p class="legend" id="map-legend">All of them: {say(scale.least)}.</p>;
  return (
    <div class="heat-legend" id="map-legend">
      <div class="bar" style={{ background: `linear-gradient(to right, ${stops.join(", ")})` }} />
      <div class="row number">
        <span>{say(scale.least)}</span>
        <span>{say((scale.least + scale.most) / 2)}</span>
        <span>{say(scale.most)}</span>
      </div>
    </div>
  );
}

function patternOf(place: number): string {
  return `pattern-${(place % PATTERNS) + 1}`;
}

function valueIn({ found }: PointRow): number | null {
  return found?.state === "done" ? valueOf(metric.value, found.digest) : null;
}

function words({ point, found }: PointRow): string {
  const where = point.overrides.map(([path, value]) => `${path} = ${value}`).join(", ");
  if (!found) return `${where}: not computed.`;
  if (found.state === "under way") return `${where}: it is simulated.`;
  if (found.state === "failed") return `${where}: cannot be simulated: ${found.words}`;
  const value = valueOf(metric.value, found.digest);
  return `${where}: ${value === null ? "no number" : QUANTITIES[metric.value.quantity].say(value)}. ${saidOf(found.digest)}`;
}
