/** What a run gave, in the numbers by which two runs are compared. */
import type { Results } from "lanewise";
import { headlineOf } from "../rig/headline.ts";
import { meanOf } from "../rig/latency.ts";
import { nanoseconds, rate, whole } from "../rig/words.ts";

/** What two runs are compared by: of a run's results the few numbers that are kept of each trial. */
export interface Measured {
  goodput_gb_per_s: number;
  flows: (Pick<Flow, "name" | "direction" | "device" | "in_total" | "goodput_gb_per_s" | "operations_per_s"> & { latency_ns: Pick<Flow["latency_ns"], "count" | "mean"> })[];
  limited_by: { sentence: string } | null;
}

type Flow = Results["flows"][number];

/** The few numbers of a run; its distributions and shares, which are far more, are left out. */
export function digest({ goodput_gb_per_s, flows, limited_by }: Results): Measured {
  return {
    goodput_gb_per_s,
    flows: flows.map(({ name, direction, device, in_total, goodput_gb_per_s, operations_per_s, latency_ns: { count, mean } }) => {
      return { name, direction, device, in_total, goodput_gb_per_s, operations_per_s, latency_ns: { count, mean } };
    }),
    limited_by: limited_by && { sentence: limited_by.sentence },
  };
}

/** Operations a second of all flows of data. */
export function operations(results: Measured): number {
  return data(results).reduce((total, flow) => total + flow.operations_per_s, 0);
}

export function data<Of extends Measured>({ flows }: Of): Of["flows"] {
  return flows.filter((flow) => flow.direction !== "control");
}

/** Mean latency, ns, of the flow that moves most; null when it has none. */
export function latency(results: Measured, like?: Measured): number | null {
  const most = [...data(like ?? results)].sort((one, other) => other.goodput_gb_per_s - one.goodput_gb_per_s)[0];
  const same = data(results).find(({ name, direction, device }) => name === most?.name && direction === most.direction && device === most.device);
  return meanOf(same?.latency_ns);
}

/** Payload where there is some, else operations a second; and what that is of. */
export function given(results: Measured): { much: string; of: string } {
  if (results.goodput_gb_per_s === 0) return { much: whole(operations(results)), of: "operations a second" };
  const shown = headlineOf(results);
  return { much: rate(shown.rate), of: shown.of };
}

/** How two runs differ in the one number. */
export interface Change {
  /** What it is a number of. */
  what: "payload" | "operations";
  /** The number of both runs, in words. */
  was: string;
  is: string;
  /** Unit of operations; empty for payload. */
  of: string;
  /** How many times as much; null where there was nothing before. */
  ratio: number | null;
}

/** The number that `given` has of the first run, and the same of the second. */
export function changed(before: Measured, after: Measured): Change {
  const ratioOf = (was: number, is: number): number | null => (was > 0 ? is / was : null);
  const [was, is] = [before.goodput_gb_per_s, after.goodput_gb_per_s];
  if (was === 0 && is === 0) {
    const [was, is] = [operations(before), operations(after)];
    return { what: "operations", was: whole(was), is: whole(is), of: "operations a second", ratio: ratioOf(was, is) };
  }
  return { what: "payload", was: rate(was), is: rate(is), of: "", ratio: ratioOf(was, is) };
}

/** Changes below it are none: runs end when they are known to half a percent. */
const SAME = 0.005;

/** A change in percent, with its sign; that there is none where it is too small. */
export function change(ratio: number | null): string {
  if (ratio === null) return "–";
  if (Math.abs(ratio - 1) <= SAME) return "nothing";
  return `${ratio > 1 ? "+" : "−"}${(Math.abs(ratio - 1) * 100).toFixed(1)} %`;
}

/** How the mean latency changed. */
export function slower(before: Measured, after: Measured): number | null {
  const [was, is] = [latency(before), latency(after, before)];
  return was && is !== null ? is / was : null;
}

/** The p99 of a flow of data that has one, in words. */
export function longest(results: Results): string | null {
  const flow = [...data(results)].sort((one, other) => other.goodput_gb_per_s - one.goodput_gb_per_s).find(({ latency_ns }) => latency_ns.p99 !== null);
  if (!flow) return null;
  return `Of ${flow.name}, 99 % of the ${flow.direction} ${flow.counted} take at most ${nanoseconds(flow.latency_ns.p99)}.`;
}
