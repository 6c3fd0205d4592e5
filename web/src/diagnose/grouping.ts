/** What is alike is shown once: findings that differ in their addresses, devices that reach the same. */
import type { DoctorFinding, PredictPrediction } from "lanewise";

/** A finding, and the addresses of others like it. */
export interface Alike {
  first: DoctorFinding;
  others: string[];
}

const ADDRESS = /\b(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]\b/g;

/** Puts findings together that say the same of other addresses, in the order in which they come. */
export function alike(findings: readonly DoctorFinding[]): Alike[] {
  const groups = new Map<string, Alike>();
  for (const each of findings) {
    const words = [each.rule, each.severity, each.title, each.fix, each.cost?.what ?? "", each.device ?? ""];
    const key = `${words.join("\n").replaceAll(ADDRESS, "·")}\n${each.also?.length ?? 0}`;
    const group = groups.get(key);
    if (group) group.others.push(each.bdf);
    else groups.set(key, { first: each, others: [] });
  }
  return [...groups.values()];
}

/** Devices that are alike, and the benchmarks of the first. */
export interface Reached {
  addresses: string[];
  device: string;
  link: string;
  rows: PredictPrediction[];
}

/** Puts devices together that are the same and reach the same, to what is shown of it. */
export function reached(rows: readonly PredictPrediction[]): Reached[] {
  const devices = Map.groupBy(rows, ({ bdf }) => bdf);
  const groups = new Map<string, Reached>();
  for (const [bdf, own] of devices) {
    const key = own
      .map((row) => {
        const numbers = [row.ceiling_gb_per_s, row.alone_gb_per_s, row.together_gb_per_s, row.latency_ns];
        return [row.device, row.link, row.benchmark.split(" peer ")[0], ...numbers.map((each) => each?.toPrecision(2))].join("|");
      })
      .join("\n");
    const group = groups.get(key);
    const first = own[0];
    if (group) group.addresses.push(bdf);
    else if (first) groups.set(key, { addresses: [bdf], device: first.device, link: first.link, rows: own });
  }
  return [...groups.values()];
}
