/** Numbers that lessons are about, taken from results. */
import type { Direction, Results } from "lanewise";
import { meanOf } from "../rig/latency.ts";
import { nanoseconds, percent, rate, whole } from "../rig/words.ts";
import { type Wire, linkOf } from "../understand/ladder.ts";
import type { Way } from "./lessons.ts";

export type Measure = "payload" | "of-line" | "around" | "idle" | "credits" | "requests" | "request" | "operation";

interface Measured {
  /** What it is, as the subject of a sentence. */
  name: string;
  of(results: Results, wire: Direction): number;
  words(value: number): string;
}

export const MEASURES: Readonly<Record<Measure, Measured>> = {
  payload: { name: "Payload of all flows", of: ({ goodput_gb_per_s }) => goodput_gb_per_s, words: rate },
  "of-line": {
    name: "Payload, as a part of the line rate",
    of: (_, { ladder }) => ladder.goodput_gb_per_s / ladder.line_rate_gb_per_s,
    words: percent,
  },
  around: { name: "The wire's time for headers and framing", of: (_, wire) => share(wire, "header") + share(wire, "framing"), words: percent },
  idle: { name: "The wire's time with nothing to send", of: (_, wire) => share(wire, "idle"), words: percent },
  credits: { name: "The wire's time without posted data credits", of: (_, wire) => share(wire, "blocked_posted_data"), words: percent },
  requests: { name: "Requests a second", of: ({ flows }) => flows.reduce((total, flow) => total + flow.operations_per_s, 0), words: whole },
  request: { name: "The mean time of a request", of: ({ flows }) => mean(flows.map((flow) => meanOf(flow.latency_ns))), words: nanoseconds },
  operation: { name: "The mean time of an operation", of: ({ flows }) => mean(flows.map((flow) => meanOf(flow.operation_latency_ns))), words: nanoseconds },
};

/** A number of results. */
export function measured(measure: Measure, results: Results, wire: Wire): number {
  return MEASURES[measure].of(results, linkOf(results, wire)[wire.direction]);
}

/** Results are known to half a percent, the half width at which a run ends: what moves less has not moved. */
const SAME = 0.005;

/** Which way a number went. */
export function wayOf(before: number, after: number): Way {
  if (Math.abs(after - before) <= SAME * Math.max(Math.abs(before), Math.abs(after))) return "as much";
  return after > before ? "more" : "less";
}

/** What became of a number, in a sentence. */
export function sentence(measure: Measure, before: number, after: number): string {
  const { name, words } = MEASURES[measure];
  const way = wayOf(before, after);
  if (way === "as much") return `${name} stayed at ${words(after)}.`;
  return `${name} ${way === "more" ? "rose" : "fell"} from ${words(before)} to ${words(after)}.`;
}

function share(wire: Direction, use: string): number {
  return wire.time_attribution[use] ?? 0;
}

/** Of flows that are alike: each has as many operations as the next. */
function mean(values: (number | null)[]): number {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? Number.NaN : known.reduce((total, value) => total + value, 0) / known.length;
}
