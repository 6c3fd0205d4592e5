/** Latencies of a flow as a curve: which part of all samples took at most how long. */
import type { Latency, Results } from "lanewise";

/** A curve, and what is known of its percentiles. */
export interface Curve {
  flow: string;
  device: string;
  direction: string;
  /** Of one request, of one operation, or of one frame. */
  of: Results["flows"][number]["counted"];
  latency: Sampled;
}

/** Latencies of which there are some. */
export type Sampled = Latency & { min: number; mean: number; max: number };

function isSampled(curve: Omit<Curve, "latency"> & { latency: Latency }): curve is Curve {
  return curve.latency.count > 0;
}

/** Curves of all flows of data that have samples, those that moved most first. */
export function curvesOf({ flows }: Results): Curve[] {
  const moved = [...flows].sort((one, other) => other.goodput_gb_per_s - one.goodput_gb_per_s);
  return moved.flatMap(({ name, device, direction, counted, latency_ns, operation_latency_ns }) => {
    const base = { flow: name, device, direction };
    const own = { ...base, of: counted, latency: latency_ns };
    const whole = operation_latency_ns ? [{ ...base, of: "operations" as const, latency: operation_latency_ns }] : [];
    return [own, ...whole].filter(isSampled);
  });
}

/** Edges of buckets, ns, and the part of all samples that took at most so long. */
export function points({ min, max, count, buckets }: Sampled): { x: number[]; y: number[] } {
  let below = 0;
  const y = buckets.counts.map((each) => (below += each) / count);
  // Nothing took longer than the longest, whatever its bucket has room for.
  const x = buckets.below_ns.map((end) => Math.min(end, max));
  return { x: [min, ...x], y: [0, ...y] };
}

/** Percentiles that a curve is marked with; those with too few samples are left out. */
export function marks({ p50, p99, p99_9 }: Latency): { name: string; at: number }[] {
  const all: [string, number | null][] = [["p50", p50], ["p99", p99], ["p99.9", p99_9]];
  return all.flatMap(([name, at]) => (at === null ? [] : [{ name, at }]));
}

/** Times that lie further apart than this factor are shown on a logarithmic axis. */
const FAR = 8;

export function isFar({ min, max }: Sampled): boolean {
  return min > 0 && max / min >= FAR;
}
