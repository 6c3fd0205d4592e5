/** Latencies of a flow as a curve: which part of all samples took at most how long. */
import type { Latency, Results } from "lanewise";

/** A curve, and what is known of its percentiles. */
export interface Curve {
  flow: string;
  device: string;
  direction: string;
  /** Of one request, or of one operation. */
  of: "requests" | "operations";
  latency: Latency;
}

/** Curves of all flows of data that have samples, those that moved most first. */
export function curvesOf({ flows }: Results): Curve[] {
  const moved = [...flows].sort((one, other) => other.goodput_gb_per_s - one.goodput_gb_per_s);
  return moved.flatMap(({ name, device, direction, counted, latency_ns, operation_latency_ns }) => {
    const base = { flow: name, device, direction };
    const own: Curve = { ...base, of: counted, latency: latency_ns };
    const whole: Curve[] = operation_latency_ns ? [{ ...base, of: "operations", latency: operation_latency_ns }] : [];
    return [own, ...whole].filter(({ latency }) => latency.count > 0);
  });
}

/** Edges of buckets, ns, and the part of all samples that took at most so long. */
export function points({ min, max, count, buckets }: Latency): { x: number[]; y: number[] } {
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

export function isFar({ min, max }: Latency): boolean {
  return min > 0 && max / min >= FAR;
}
