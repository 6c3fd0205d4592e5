/** What is kept of a point's results, and the numbers that an exploration can be about. */
import type { Flow, Latency, Results } from "lanewise";
import { meanOf } from "../rig/latency.ts";
import { memoryUse } from "../rig/memory-wire.ts";
import { nanoseconds, percent, rate, whole } from "../rig/words.ts";

/** What is kept of one flow. */
interface FlowDigest {
  id: string;
  goodput: number;
  operations: number;
  latency: ShortLatency;
  operation: ShortLatency | null;
}

interface ShortLatency {
  mean: number | null;
  p99: number | null;
}

/** Of results that may be megabytes: hundreds of these fit into a page. */
export interface Digest {
  fingerprint: string;
  endReason: string;
  /** The one number of the run, GB/s: payload of all flows, each byte once. */
  goodput: number;
  /** Of all flows of data, a second. */
  operations: number;
  flows: FlowDigest[];
  /** Part of the time in use, by link and direction. */
  uses: Record<string, number>;
  limit: { name: string; sentence: string } | null;
}

export type Quantity = "goodput" | "operations" | "latency-mean" | "latency-p99" | "operation-mean" | "operation-p99" | "use";

export interface Metric {
  quantity: Quantity;
  /** A flow, or a link and its direction; empty for all flows. */
  of: string;
}

interface Measured {
  words: string;
  /** Of a number, with its unit. */
  say(value: number): string;
  /** In a table for other programs. */
  column: string;
}

export const QUANTITIES: Readonly<Record<Quantity, Measured>> = {
  goodput: { words: "payload", say: rate, column: "goodput_gb_per_s" },
  operations: { words: "requests or operations a second", say: (value) => `${whole(value)} /s`, column: "operations_per_s" },
  "latency-mean": { words: "latency of requests, mean", say: nanoseconds, column: "latency_ns_mean" },
  "latency-p99": { words: "latency of requests, p99", say: nanoseconds, column: "latency_ns_p99" },
  "operation-mean": { words: "latency of operations, mean", say: nanoseconds, column: "operation_latency_ns_mean" },
  "operation-p99": { words: "latency of operations, p99", say: nanoseconds, column: "operation_latency_ns_p99" },
  use: { words: "use", say: percent, column: "utilisation" },
};

export const TOTAL: Metric = { quantity: "goodput", of: "" };

/** What is kept of results. */
export function digestOf(results: Results): Digest {
  const data = results.flows.filter((flow) => flow.direction !== "control");
  const uses = results.links.flatMap(({ name, upstream, downstream }): [string, number][] => [
    [`${name}, upstream`, memoryUse(results, name, "upstream") ?? upstream.utilisation],
    [`${name}, downstream`, memoryUse(results, name, "downstream") ?? downstream.utilisation],
  ]);
  const limit = results.limited_by;
  return {
    fingerprint: results.fingerprint,
    endReason: results.end_reason,
    goodput: results.goodput_gb_per_s,
    operations: data.reduce((sum, flow) => sum + flow.operations_per_s, 0),
    flows: data.map((flow) => ({
      id: idOf(flow, data),
      goodput: flow.goodput_gb_per_s,
      operations: flow.operations_per_s,
      latency: short(flow.latency_ns),
      operation: flow.operation_latency_ns && short(flow.operation_latency_ns),
    })),
    uses: Object.fromEntries(uses),
    // Of several that are in the same case the first by name, so that a map does not show differences where there are none.
    limit: limit && { name: [limit.name, ...limit.alike].sort()[0] ?? limit.name, sentence: limit.sentence },
  };
}

/** All that an exploration can be about, of points like these. */
export function metricsOf({ flows, uses }: Digest): Metric[] {
  const ofFlow = ({ id, operation }: FlowDigest): Metric[] => {
    const some: Quantity[] = ["goodput", "operations", "latency-mean", "latency-p99"];
    const all: Quantity[] = operation ? [...some, "operation-mean", "operation-p99"] : some;
    return all.map((quantity) => ({ quantity, of: id }));
  };
  return [TOTAL, { quantity: "operations", of: "" }, ...flows.flatMap(ofFlow), ...Object.keys(uses).map((of): Metric => ({ quantity: "use", of }))];
}

/** The number; null where a point has none. */
export function valueOf({ quantity, of }: Metric, digest: Digest): number | null {
  if (quantity === "use") return Object.hasOwn(digest.uses, of) ? (digest.uses[of] ?? null) : null;
  if (of === "" && (quantity === "goodput" || quantity === "operations")) return digest[quantity];
  const flow = digest.flows.find((each) => each.id === of);
  if (!flow) return null;
  if (quantity === "goodput" || quantity === "operations") return flow[quantity];
  const [what, which] = quantity.split("-") as ["latency" | "operation", "mean" | "p99"];
  return flow[what]?.[which] ?? null;
}

/** What a metric is, as the title of a picture. */
export function titleOf({ quantity, of }: Metric): string {
  const { words } = QUANTITIES[quantity];
  const owner = of === "" ? "all flows" : quantity === "use" ? `the link of ${of}` : of;
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}: ${owner}`;
}

export function isMetric(value: unknown): value is Metric {
  if (typeof value !== "object" || value === null || !("quantity" in value) || !("of" in value)) return false;
  return typeof value.of === "string" && typeof value.quantity === "string" && Object.hasOwn(QUANTITIES, value.quantity);
}

/** A flow reads or writes, and several devices may have flows of one name. */
function idOf(flow: Flow, all: Flow[]): string {
  const isTwice = all.filter((each) => each.name === flow.name && each.direction === flow.direction).length > 1;
  return `${flow.name}, ${flow.direction}${isTwice ? `, ${flow.device}` : ""}`;
}

function short(latency: Latency): ShortLatency {
  return { mean: meanOf(latency), p99: latency.p99 };
}
