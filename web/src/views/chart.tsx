/** Rates of flows over the time of the run. */
import { useEffect, useRef } from "preact/hooks";
import { effect, signal } from "@preact/signals";
import type uPlot from "uplot";
import { history } from "../state/store.ts";
import { rate, span } from "../rig/words.ts";
import { devices } from "../understand/uses.ts";
import { SCALES } from "./scales.ts";

/** More lines than colours cannot be told apart: then their sum is drawn. */
const COLOURS = 6;
const HEIGHT = 150;

/**
 * The library asks for number formats as it is loaded, and a browser that runs under an odd locale has none: then there is no chart, and
 * the page works.
 */
export const library = signal<typeof uPlot | null>(null);
import("uplot").then(
  (loaded) => (library.value = loaded.default),
  (error: unknown) => console.warn(`no chart: ${error}`),
);

export function Chart() {
  const place = useRef<HTMLDivElement>(null);
  const isEmpty = history.value.times.length < 2 || !library.value;
  useEffect(() => {
    let chart: uPlot | null = null;
    let names = "";
    const home = place.current as HTMLDivElement;
    const stop = effect(() => {
      const Plot = library.value;
      const { times, lines } = drawn();
      if (times.length < 2 || !Plot) return;
      if (!chart || names !== Object.keys(lines).join()) {
        chart?.destroy();
        names = Object.keys(lines).join();
        chart = new Plot(optionsOf(Object.keys(lines), home.clientWidth), [], home);
      }
      chart.setData([times, ...Object.values(lines)]);
    });
    const observer = new ResizeObserver(() => chart?.setSize({ width: home.clientWidth, height: HEIGHT }));
    observer.observe(home);
    return () => {
      stop();
      observer.disconnect();
      chart?.destroy();
    };
  }, []);
  return (
    <div class="chart" hidden={isEmpty} role="img" aria-label="Payload of each flow over simulated time">
      <p class="caption">Payload over simulated time</p>
      <div ref={place} />
    </div>
  );
}

function drawn(): { times: number[]; lines: Record<string, number[]> } {
  const { times, flows: all } = history.value;
  const flows = Object.fromEntries(Object.entries(all).filter(([, values]) => values.some((value) => value > 0)));
  if (Object.keys(flows).length <= COLOURS) return { times, lines: flows };
  const sum = times.map((_, index) => Object.values(flows).reduce((total, values) => total + (values[index] ?? 0), 0));
  return { times, lines: { [`all ${Object.keys(flows).length} flows`]: sum } };
}

function optionsOf(names: string[], width: number): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis: uPlot.Axis = { stroke: colour("--ink-soft"), grid: { stroke: colour("--rule"), width: 1 }, ticks: { show: false } };
  const series: uPlot.Series[] = names.map((label, index) => ({
    label: shortName(label),
    stroke: colour(`--series-${index + 1}`),
    width: 1.5,
    points: { show: false },
    value: (_, value) => rate(value),
  }));
  return {
    width,
    height: HEIGHT,
    scales: SCALES,
    axes: [
      { ...axis, values: (_, values) => values.map((value) => (value === 0 ? "0" : span(value))) },
      { ...axis, size: 76, space: 22, values: (_, values) => values.map((value) => rate(value)) },
    ],
    series: [{ label: "time", value: (_, value) => (value === null ? "–" : span(value)) }, ...series],
    cursor: { drag: { x: false, y: false } },
  };
}

/** `read, ssd[0] and 23 alike`: a name of a flow with all devices that it has would be wider than the page. */
function shortName(flow: string): string {
  const comma = flow.lastIndexOf(", ");
  return comma < 0 ? flow : `${flow.slice(0, comma)}, ${devices(flow.slice(comma + 2))}`;
}
