/** What a run gave, in the numbers by which two runs are compared. */
import type { Results } from "lanewise";
import { headlineOf } from "../rig/headline.ts";
import { nanoseconds, rate, whole } from "../rig/words.ts";

/** Payload of all flows of data, GB/s. */
export function goodput(results: Results): number {
  return data(results).reduce((total, flow) => total + flow.goodput_gb_per_s, 0);
}

/** Operations a second of all flows of data. */
export function operations(results: Results): number {
  return data(results).reduce((total, flow) => total + flow.operations_per_s, 0);
}

export function data({ flows }: Results): Results["flows"] {
  return flows.filter((flow) => flow.direction !== "control");
}

/** Mean latency, ns, of the flow that moves most; null when it has none. */
export function latency(results: Results, like?: Results): number | null {
  const most = [...data(like ?? results)].sort((one, other) => other.goodput_gb_per_s - one.goodput_gb_per_s)[0];
  const same = data(results).find(({ name, direction, device }) => name === most?.name && direction === most.direction && device === most.device);
  return same && same.latency_ns.count > 0 ? same.latency_ns.mean : null;
}

/** Payload where there is some, else operations a second; and what that is of. `isJoined` where a wire joins two devices. */
export function given(results: Results, isJoined: boolean): { much: string; of: string } {
  if (goodput(results) === 0) return { much: whole(operations(results)), of: "operations a second" };
  const shown = headlineOf(
    {
      rates: data(results).map((flow) => [flow.direction, flow.goodput_gb_per_s]),
      links: results.links.map(({ name, upstream, downstream }) => [name, upstream.ladder.goodput_gb_per_s, downstream.ladder.goodput_gb_per_s]),
    },
    isJoined,
  );
  return { much: rate(shown.rate), of: shown.of };
}

/** How many times as much a run gives as another; null where there was nothing before. */
export function ratio(before: Results, after: Results): number | null {
  const [was, is] = goodput(before) > 0 ? [goodput(before), goodput(after)] : [operations(before), operations(after)];
  return was > 0 ? is / was : null;
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
export function slower(before: Results, after: Results): number | null {
  const [was, is] = [latency(before), latency(after, before)];
  return was && is !== null ? is / was : null;
}

/** The p99 of a flow of data that has one, in words. */
export function longest(results: Results): string | null {
  const flow = [...data(results)].sort((one, other) => other.goodput_gb_per_s - one.goodput_gb_per_s).find(({ latency_ns }) => latency_ns.p99 !== null);
  if (!flow) return null;
  const one = flow.counted === "requests" ? "request" : "operation";
  return `Of ${flow.name}, 99 % of the ${flow.direction} ${one}s take at most ${nanoseconds(flow.latency_ns.p99)}.`;
}
