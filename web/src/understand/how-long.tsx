/** How long a request or an operation takes: the latencies of a flow as a curve, with its percentiles, and all as a table. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import type { Results } from "lanewise";
import { nanoseconds, percent, span, whole } from "../rig/words.ts";
import { library } from "../views/chart.tsx";
import { type Curve, curvesOf, isFar, marks, points } from "./distribution.ts";
import { devices } from "./uses.ts";

const HEIGHT = 220;
/** The curve that is drawn, by its place in the list. */
const chosen = signal(0);

export function HowLong({ results }: { results: Results }) {
  const curves = curvesOf(results);
  const at = Math.min(chosen.value, curves.length - 1);
  const curve = curves[at];
  return (
    <section aria-labelledby="how-long">
      <h2 id="how-long">How long does an operation take?</h2>
      {!curve ? (
        <p>Nothing was completed in the measured time.</p>
      ) : (
        <>
          <p class="said">{inWords(curve)}</p>
          <label class="of-link">
            Latencies of{" "}
            <select id="latency-of" value={String(at)} onChange={(event) => (chosen.value = Number(event.currentTarget.value))}>
              {curves.map((each, index) => (
                <option key={nameOf(each)} value={String(index)}>
                  {nameOf(each)}
                </option>
              ))}
            </select>
          </label>
          <Distribution curve={curve} key={`${results.fingerprint} ${nameOf(curve)}`} />
          <Percentiles curves={curves} />
        </>
      )}
    </section>
  );
}

function nameOf({ flow, direction, device, of }: Curve): string {
  return `${of} of ${flow} (${direction})${flow.includes(device) ? "" : `, ${devices(device)}`}`;
}

/** How large a part a percentile is of all. */
const PARTS: Record<string, string> = { p50: "half of them", p99: "99 %", "p99.9": "99.9 %" };

function inWords({ flow, direction, of, latency }: Curve): string {
  const said = marks(latency).map(({ name, at }) => `${PARTS[name]} take at most ${nanoseconds(at)} (${name})`);
  const begin = `A ${direction} ${of.slice(0, -1)} of ${flow} takes ${nanoseconds(latency.mean)} on average`;
  const missing = Object.keys(PARTS).filter((name) => !marks(latency).some((mark) => mark.name === name));
  const few = missing.length > 0 ? ` ${whole(latency.count)} samples are too few for ${missing.join(" and ")}.` : "";
  return `${[begin, said.join(", ")].filter(Boolean).join("; ")}.${few}`;
}

/** Part of all samples that took at most so long. */
function Distribution({ curve }: { curve: Curve }) {
  const place = useRef<HTMLDivElement>(null);
  const Plot = library.value;
  useEffect(() => {
    if (!Plot) return undefined;
    const home = place.current as HTMLDivElement;
    const { x, y } = points(curve.latency);
    let chart: uPlot | null = null;
    const draw = (): void => {
      chart?.destroy();
      chart = new Plot(optionsOf(curve, home.clientWidth), [x, y], home);
    };
    draw();
    // Colours are those of the page when it is drawn.
    const theme = matchMedia("(prefers-color-scheme: dark)");
    theme.addEventListener("change", draw);
    const observer = new ResizeObserver(() => chart?.setSize({ width: home.clientWidth, height: HEIGHT }));
    observer.observe(home);
    return () => {
      theme.removeEventListener("change", draw);
      observer.disconnect();
      chart?.destroy();
    };
  }, [Plot]);
  const said = marks(curve.latency).map(({ name, at }) => `${name} ${nanoseconds(at)}`);
  return (
    <div class="chart" role="img" aria-label={`Part of the ${nameOf(curve)} that took at most how long. ${said.join(", ")}`}>
      <p class="caption">Part of all {curve.of} that took at most so long</p>
      <div ref={place} />
    </div>
  );
}

function optionsOf({ latency }: Curve, width: number): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis: uPlot.Axis = { stroke: colour("--ink-soft"), grid: { stroke: colour("--rule"), width: 1 }, ticks: { show: false } };
  const room = Math.max((latency.max - latency.min) * 0.05, latency.max * 0.02);
  const isLogarithmic = isFar(latency);
  const range: uPlot.Range.MinMax = isLogarithmic ? [latency.min / 1.15, latency.max * 1.15] : [Math.max(0, latency.min - room), latency.max + room];
  return {
    width,
    height: HEIGHT,
    scales: { x: { time: false, distr: isLogarithmic ? 3 : 1, range }, y: { range: [0, 1.04] } },
    axes: [
      { ...axis, values: (_, values) => values.map((value) => (value === null ? "" : value === 0 ? "0" : span(value * 1e-9))) },
      { ...axis, size: 56, values: (_, values) => values.map((value) => percent(value)) },
    ],
    series: [
      { label: "took at most", value: (_, value) => (value === null ? "–" : nanoseconds(value)) },
      { label: "part", stroke: colour("--series-1"), width: 2, points: { show: false }, value: (_, value) => (value === null ? "–" : percent(value)) },
    ],
    cursor: { drag: { x: false, y: false } },
    hooks: { draw: [(chart) => markPercentiles(chart, marks(latency), colour)] },
  };
}

/** A dashed line for each percentile, with its name at the axis below: to be read without colours. */
function markPercentiles(chart: uPlot, all: { name: string; at: number }[], colour: (name: string) => string): void {
  const { ctx, bbox } = chart;
  ctx.save();
  ctx.font = `600 ${12 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.fillStyle = colour("--ink");
  ctx.strokeStyle = colour("--ink-soft");
  ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const [index, { name, at }] of all.entries()) {
    const x = chart.valToPos(at, "x", true);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    // Below one another, since they may lie at the same time; at the side where there is room.
    const isRight = x > bbox.left + bbox.width * 0.85;
    ctx.textAlign = isRight ? "right" : "left";
    ctx.fillText(name, x + (isRight ? -5 : 5) * devicePixelRatio, bbox.top + bbox.height * (0.35 + 0.16 * index));
  }
  ctx.restore();
}

const COLUMNS = ["min", "mean", "p50", "p90", "p95", "p99", "p99_9", "max"] as const;

function Percentiles({ curves }: { curves: Curve[] }) {
  return (
    <details>
      <summary>All flows, as a table</summary>
      <div class="table-scroll" tabindex={0} role="group" aria-label="Table of latencies">
        <table id="latencies">
          <thead>
            <tr>
              <th scope="col">Latency of</th>
              {COLUMNS.map((name) => (
                <th key={name} scope="col">
                  {name.replace("_", ".")}
                </th>
              ))}
              <th scope="col">Samples</th>
            </tr>
          </thead>
          <tbody>
            {curves.map((curve) => (
              <tr key={nameOf(curve)}>
                <th scope="row">{nameOf(curve)}</th>
                {COLUMNS.map((name) => (
                  <td key={name} class="number">
                    {nanoseconds(curve.latency[name])}
                  </td>
                ))}
                <td class="number">{whole(curve.latency.count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="legend">A dash where there are too few samples for a percentile.</p>
    </details>
  );
}
