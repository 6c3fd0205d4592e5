/** One parameter: its values along a line, and where along it another thing becomes the limit. */
import { QUANTITIES, titleOf, valueOf } from "./metrics.ts";
import { NOTHING, type PointRow, isEarly, kneesOf, limitersOf, saidOf } from "./points.ts";
import { axes, choose, chosen, metric, rows } from "./state.ts";

const WIDTH = 640;
const HEIGHT = 280;
const LEFT = 82;
const RIGHT = 20;
const TOP = 30;
const BOTTOM = 44;
const TICKS = 4;
/** Names of values that fit beside each other. */
const MOST_NAMES = 10;

export function Line() {
  const axis = axes.value[0];
  if (!axis) return null;
  const all = rows.value;
  const { say } = QUANTITIES[metric.value.quantity];
  const values = all.map(valueIn);
  const top = Math.max(...values.filter((value) => value !== null), 0) * 1.08 || 1;
  const x = (place: number): number => LEFT + ((WIDTH - LEFT - RIGHT) * (place + 0.5)) / all.length;
  const y = (value: number): number => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * value) / top;
  const limiters = limitersOf(all);
  const letter = new Map(limiters.map((each) => [each.name, each.letter]));
  const every = Math.ceil(all.length / MOST_NAMES);
  const place = chosen.value[0] ?? 0;
  return (
    <figure class="line-plot">
      <figcaption>
        {titleOf(metric.value)} over <code>{axis.path}</code>
      </figcaption>
      <div class="table-scroll" tabindex={0} role="group" aria-label="Picture of the points">
        <svg id="explore-line" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${titleOf(metric.value)} over ${axis.path}: the table of points has the numbers`}>
          {ticksOf(top).map((tick) => (
            <g key={tick}>
              <line class="grid" x1={LEFT} x2={WIDTH - RIGHT} y1={y(tick)} y2={y(tick)} />
              <text class="tick" x={LEFT - 8} y={y(tick) + 4} text-anchor="end">
                {tick === 0 ? "0" : say(tick)}
              </text>
            </g>
          ))}
          {axis.values.map(
            (value, index) =>
              index % every === 0 && (
                <text key={value} class="tick" x={x(index)} y={HEIGHT - BOTTOM + 18} text-anchor="middle">
                  {value}
                </text>
              ),
          )}
          <text class="tick" x={(LEFT + WIDTH - RIGHT) / 2} y={HEIGHT - 8} text-anchor="middle">
            {axis.path}
          </text>
          <line class="chosen" x1={x(place)} x2={x(place)} y1={TOP} y2={HEIGHT - BOTTOM} />
          {kneesOf(all).map((knee) => {
            const between = (x(knee.after) + x(nextKnown(all, knee.after))) / 2;
            return (
              <g key={knee.after} class="knee">
                <line x1={between} x2={between} y1={TOP - 4} y2={HEIGHT - BOTTOM} />
                <text x={between} y={TOP - 10} text-anchor="middle">
                  {letter.get(knee.from)} → {letter.get(knee.to)}
                </text>
              </g>
            );
          })}
          {pieces(all).map((piece) => (
            <polyline key={piece[0]?.[0]} class="curve" points={piece.map(([index, value]) => `${x(index)},${y(value)}`).join(" ")} />
          ))}
          {all.map(({ point, found }, index) => {
            const value = values[index] ?? null;
            const words = `${axis.values[index]}: ${found?.state === "failed" ? `cannot be simulated: ${found.words}` : value === null ? "not computed" : say(value)}`;
            return (
              <g key={axis.values[index]} class={`spot ${index === place ? "now" : ""}`} onClick={() => choose(point.at)}>
                <title>{found?.state === "done" ? `${words}. ${saidOf(found.digest)}` : words}</title>
                <rect x={x(index) - (WIDTH - LEFT - RIGHT) / all.length / 2} y={TOP} width={(WIDTH - LEFT - RIGHT) / all.length} height={HEIGHT - TOP - BOTTOM} />
                {value !== null && <circle class={found?.state === "done" && isEarly(found.digest) ? "early" : ""} cx={x(index)} cy={y(value)} r={index === place ? 5.5 : 4} />}
                {found?.state === "failed" && <path class="cross" d={`M${x(index) - 5} ${y(0) - 13}l10 10m0 -10l-10 10`} />}
              </g>
            );
          })}
        </svg>
      </div>
      <Knees all={all} />
    </figure>
  );
}

/** Where the limit changes, in sentences. */
function Knees({ all }: { all: PointRow[] }) {
  const limiters = limitersOf(all);
  const knees = kneesOf(all);
  const values = axes.value[0]?.values ?? [];
  const named = (name: string): string => `${limiters.find((each) => each.name === name)?.letter ?? ""} (${name})`;
  if (limiters.length === 0) return null;
  return (
    <div id="explore-knees">
      <ul class="limiters" aria-label="Limited by">
        {limiters.map(({ letter, name, count }) => (
          <li key={name}>
            <strong>{letter}</strong> {name === NOTHING ? "nothing that was found" : name}, at {count} {count === 1 ? "point" : "points"}
          </li>
        ))}
      </ul>
      {knees.length === 0 ? (
        <p>All of them have the same limit.</p>
      ) : (
        <ul>
          {knees.map((knee) => (
            <li key={knee.after}>
              Between {values[knee.after]} and {values[nextKnown(all, knee.after)]} the limit changes from {named(knee.from)} to {named(knee.to)}.
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function valueIn({ found }: PointRow): number | null {
  return found?.state === "done" ? valueOf(metric.value, found.digest) : null;
}

function nextKnown(all: readonly PointRow[], after: number): number {
  return all.findIndex(({ found }, index) => index > after && found?.state === "done");
}

/** Runs of neighbours that all have a value. */
function pieces(all: readonly PointRow[]): [number, number][][] {
  const found: [number, number][][] = [[]];
  for (const [index, row] of all.entries()) {
    const value = valueIn(row);
    if (value === null) found.push([]);
    else found.at(-1)?.push([index, value]);
  }
  return found.filter((piece) => piece.length > 1);
}

/** Round numbers from zero up to the top. */
function ticksOf(top: number): number[] {
  const raw = top / TICKS;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((each) => each * power >= raw) ?? 10) * power;
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, index) => index * step);
}
