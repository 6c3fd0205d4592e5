/** Rates of flows over the time of a run, for a chart: bounded, by dropping every second point when there are too many. */
import type { State } from "lanewise";

export interface History {
  /** Simulated time of each look, s. */
  times: number[];
  /** Goodput since the look before, GB/s, by flow. */
  flows: Record<string, number[]>;
}

/** A chart shows no more points than it has pixels. */
const MOST = 600;

/** With one more look. Looks before measuring began, or without time between them, say nothing of rates. */
export function grown(history: History, state: State): History {
  if (state.window_s <= 0) return history;
  const base = history.times.length >= MOST ? thinned(history) : history;
  const flows: Record<string, number[]> = {};
  for (const flow of state.flows.filter((each) => each.direction !== "control")) {
    const name = flowName(flow);
    // A flow that is seen for the first time had no bytes before.
    const before = base.flows[name] ?? base.times.map(() => 0);
    flows[name] = [...before, flow.last.goodput_gb_per_s];
  }
  return { times: [...base.times, state.time_s], flows };
}

/** A flow reads or writes: both may have one name. */
export function flowName(flow: { flow: string; direction: string; device: string }): string {
  return `${flow.flow} ${flow.direction}, ${flow.device}`;
}

function thinned(history: History): History {
  const half = (values: number[]): number[] => values.filter((_, index) => index % 2 === 1);
  const flows = Object.entries(history.flows).map(([name, values]) => [name, half(values)]);
  return { times: half(history.times), flows: Object.fromEntries(flows) };
}
