/**
 * Two runs side by side, with the keys of `lanewise compare A B --json`: numbers of both as they are, and ratios of B to A.
 *
 * Flows and links are matched by name. What only one of the two has is listed as such and compared with nothing.
 */
import type { Compare, Direction, Flow, Link, Results } from "lanewise";
import { meanOf } from "../rig/latency.ts";

export type Total = Compare["totals"][number];
export type FlowRow = Compare["flows"][number];
export type LinkRow = Compare["links"][number];
export type Change = Compare["time_attribution_changes"][number];
export type Comparison = Pick<Compare, "totals" | "flows" | "links" | "time_attribution_changes" | "links_only_in_a" | "links_only_in_b">;

/** Changes of a share below so many percentage points are noise of the window. As in the package's `comparison.py`. */
const LEAST_POINTS = 0.05;

/** Sets two runs side by side. */
export function compared(a: Results, b: Results): Comparison {
  const [inA, inB] = [names(a), names(b)];
  return {
    totals: totals(a, b),
    flows: flows(a, b),
    links: links(a, b),
    time_attribution_changes: changes(a, b),
    links_only_in_a: inA.filter((name) => !inB.includes(name)),
    links_only_in_b: inB.filter((name) => !inA.includes(name)),
  };
}

/** Flows of data: all but commands, status and interrupts. */
export function dataFlows(results: Results): Flow[] {
  return results.flows.filter((flow) => flow.direction !== "control");
}

/** Flows of two runs in pairs; null where one of them has no such flow. */
export function flowPairs(a: Results, b: Results): [Flow | null, Flow | null][] {
  // Names of flows are their workloads': several devices of one may have the same.
  const isTwice = [a, b].some(({ flows }) => new Set(flows.map(nameOf)).size < flows.length);
  const [inA, inB] = [keyed(a, isTwice), keyed(b, isTwice)];
  const left = [...inA].map(([key, flow]): [Flow, Flow | null] => [flow, inB.get(key) ?? null]);
  return [...left, ...[...inB].filter(([key]) => !inA.has(key)).map(([, flow]): [null, Flow] => [null, flow])];
}

/** Flows by what they are matched by; several of one device are taken in their order. */
function keyed({ flows }: Results, isByDevice: boolean): Map<string, Flow> {
  const times = new Map<string, number>();
  return new Map(
    flows.map((flow) => {
      const name = isByDevice ? `${nameOf(flow)} ${flow.device}` : nameOf(flow);
      const number = times.get(name) ?? 0;
      times.set(name, number + 1);
      return [`${name} ${number}`, flow];
    }),
  );
}

function nameOf(flow: Flow): string {
  return `${flow.name} ${flow.direction}`;
}

/** Directions of links that both have. */
export function wirePairs(a: Results, b: Results): [string, "upstream" | "downstream", Direction, Direction][] {
  return a.links.flatMap((one) => {
    const other = b.links.find((each) => each.name === one.name);
    const pair = (way: "upstream" | "downstream"): [string, typeof way, Direction, Direction][] => (other ? [[one.name, way, one[way], other[way]]] : []);
    return [...pair("upstream"), ...pair("downstream")];
  });
}

export function ratioOf(a: number | null, b: number | null): number | null {
  return a !== null && b !== null && a > 0 ? b / a : null;
}

function names({ links }: Results): string[] {
  return links.map((link: Link) => link.name);
}

function totals(a: Results, b: Results): Total[] {
  const sums = (results: Results): [Total["quantity"], number][] => [
    ["goodput_mib_per_s", results.flows.filter((flow) => flow.in_total).reduce((total, flow) => total + flow.goodput_mib_per_s, 0)],
    ["goodput_gb_per_s", results.goodput_gb_per_s],
    ["operations_per_s", dataFlows(results).reduce((total, flow) => total + flow.operations_per_s, 0)],
  ];
  const ofB = sums(b);
  return sums(a).map(([quantity, inA], index) => {
    const inB = ofB[index]?.[1] ?? 0;
    return { quantity, a: inA, b: inB, ratio: ratioOf(inA, inB) };
  });
}

function flows(a: Results, b: Results): FlowRow[] {
  return flowPairs(a, b).map(([one, other]) => {
    const [inA, inB] = [one?.goodput_mib_per_s ?? null, other?.goodput_mib_per_s ?? null];
    return {
      flow: (one ?? other)?.name ?? "",
      device: (one ?? other)?.device ?? "",
      direction: (one ?? other)?.direction ?? "",
      a_mib_per_s: inA,
      b_mib_per_s: inB,
      ratio: ratioOf(inA, inB),
      a_latency_ns_mean: meanOf(one?.latency_ns),
      b_latency_ns_mean: meanOf(other?.latency_ns),
    };
  });
}

function links(a: Results, b: Results): LinkRow[] {
  return wirePairs(a, b).map(([link, direction, one, other]) => {
    const [inA, inB] = [one.ladder.goodput_gb_per_s, other.ladder.goodput_gb_per_s];
    return { link, direction, a_gb_per_s: inA, b_gb_per_s: inB, ratio: ratioOf(inA, inB), a_utilisation: one.utilisation, b_utilisation: other.utilisation };
  });
}

/** The direction that moved most comes first, and in it what moved most. */
function changes(a: Results, b: Results): Change[] {
  const groups = wirePairs(a, b).map(([link, direction, one, other]) => {
    const categories = new Set([...Object.keys(one.time_attribution), ...Object.keys(other.time_attribution)]);
    const rows = [...categories].map((category): Change => {
      const [inA, inB] = [100 * (one.time_attribution[category] ?? 0), 100 * (other.time_attribution[category] ?? 0)];
      return { link, direction, category, a_percent: inA, b_percent: inB, change_points: inB - inA };
    });
    return rows.filter((row) => Math.abs(row.change_points) >= LEAST_POINTS).sort((first, second) => size(second) - size(first));
  });
  return groups
    .filter((rows) => rows.length > 0)
    .sort((one, other) => size(other[0]) - size(one[0]) || order(one[0]?.link, other[0]?.link) || order(one[0]?.direction, other[0]?.direction))
    .flat();
}

function size(change: Change | undefined): number {
  return Math.abs(change?.change_points ?? 0);
}

function order(one = "", other = ""): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
