/** What is different between the numbers of two runs: the largest change first. */
import type { Flow, Results } from "lanewise";
import type { Headline } from "../rig/headline.ts";
import { nanoseconds, percent, rate, whole } from "../rig/words.ts";
import { type Comparison, flowPairs, ratioOf } from "./comparison.ts";

export interface Moved {
  what: string;
  of: string;
  a: string;
  b: string;
  /** B over A; none where A or B is nothing. */
  ratio: number | null;
  /** How much it moved: as the logarithm of the ratio, so that twice and half are as much. */
  size: number;
  /** Only one of the two has it: then nothing moved. */
  isOnly: boolean;
}

/** Results are known to half a percent, the half width at which a run ends: what moves less has not moved. */
const SAME = Math.log(1.005);

const ALL = "all flows";

/** Totals, flows, latencies and links that moved, and those that did not. What only one of the two has comes last. */
export function movedOf(a: Results, b: Results, comparison: Comparison): { moved: Moved[]; still: Moved[] } {
  const all = [...ofTotals(comparison), ...ofFlows(a, b), ...ofLinks(comparison)].sort((one, other) => Number(one.isOnly) - Number(other.isOnly) || other.size - one.size);
  return { moved: together(all.filter((each) => each.size >= SAME)), still: together(all.filter((each) => each.size < SAME)) };
}

/** Rows that say the same of several flows or links in one: of the one that moved most. */
function together(rows: Moved[]): Moved[] {
  const alike = Map.groupBy(rows, ({ what, of, a, b, ratio }) => `${what} ${of === ALL ? ALL : ""} ${a} ${b} ${ratio?.toFixed(2)}`);
  return [...alike.values()].flatMap(([first, ...others]) => {
    if (!first) return [];
    return [others.length === 0 ? first : { ...first, of: `${first.of}, and ${others.length} alike` }];
  });
}

function one(what: string, of: string, a: number | null, b: number | null, words: (value: number) => string): Moved {
  const said = (value: number | null): string => (value === null ? "–" : words(value));
  const isOnly = a === null || b === null;
  const isBoth = !isOnly && a !== 0 && b !== 0;
  const size = isBoth ? Math.abs(Math.log(b / a)) : a === b ? 0 : Number.POSITIVE_INFINITY;
  return { what, of, a: said(a), b: said(b), ratio: isBoth ? ratioOf(a, b) : null, size, isOnly };
}

function ofTotals({ totals }: Comparison): Moved[] {
  const rows = Object.fromEntries(totals.map((row) => [row.quantity, row]));
  const [goodput, operations] = [rows["goodput_gb_per_s"], rows["operations_per_s"]];
  return [
    one("payload", ALL, goodput?.a ?? null, goodput?.b ?? null, rate),
    one("requests or operations", ALL, operations?.a ?? null, operations?.b ?? null, perSecond),
  ];
}

function ofFlows(a: Results, b: Results): Moved[] {
  const nameOf = (flow: Flow): string => `${flow.name}, ${flow.direction}`;
  // Of several devices that one workload has flows of.
  const several = new Set([a, b].flatMap(({ flows }) => [...Map.groupBy(flows, nameOf)].flatMap(([name, all]) => (all.length > 1 ? [name] : []))));
  return flowPairs(a, b).flatMap(([inA, inB]) => {
    const flow = inA ?? inB;
    if (!flow) return [];
    const name = nameOf(flow);
    const of = several.has(name) ? `${name}, ${flow.device}` : name;
    const goodput = one("payload", of, inA?.goodput_gb_per_s ?? null, inB?.goodput_gb_per_s ?? null, rate);
    const latencies = (["latency_ns", "operation_latency_ns"] as const).flatMap((whose) =>
      (["mean", "p50", "p99"] as const).flatMap((name) => {
        const [first, second] = [inA, inB].map((each) => (each?.[whose]?.count ? each[whose][name] : null)) as [number | null, number | null];
        const what = `${whose === "latency_ns" ? "latency" : "latency of operations"}, ${name}`;
        return first === null && second === null ? [] : [one(what, of, first, second, nanoseconds)];
      }),
    );
    const hasMoved = (inA?.bytes ?? 0) > 0 || (inB?.bytes ?? 0) > 0;
    return hasMoved ? [goodput, ...latencies] : latencies;
  });
}

function ofLinks({ links }: Comparison): Moved[] {
  return links
    .filter((row) => row.a_gb_per_s > 0 || row.b_gb_per_s > 0)
    .map((row) => one("payload of a link", `${row.link}, ${row.direction}`, row.a_gb_per_s, row.b_gb_per_s, rate));
}

export interface MovedUse {
  name: string;
  /** Part of the time in use; null where a run has no such resource. */
  a: number | null;
  b: number | null;
  /** Time that others waited for it each time, ns. */
  aWait: number | null;
  bWait: number | null;
}

/** Shared resources whose use moved, most first. */
export function movedUses(a: Results, b: Results): MovedUse[] {
  const [inA, inB] = [a, b].map((each) => new Map(each.resources.map((one) => [one.name, one]))) as [Resources, Resources];
  return [...new Set([...inA.keys(), ...inB.keys()])]
    .map((name): MovedUse => {
      const [first, second] = [inA.get(name), inB.get(name)];
      return { name, a: first?.utilisation ?? null, b: second?.utilisation ?? null, aWait: first?.waited_ns_mean ?? null, bWait: second?.waited_ns_mean ?? null };
    })
    .filter((use) => sizeOf(use) >= 0.005)
    .sort((one, other) => sizeOf(other) - sizeOf(one));
}

type Resources = Map<string, Results["resources"][number]>;

function sizeOf(use: MovedUse): number {
  return Math.abs((use.b ?? 0) - (use.a ?? 0));
}

/** The comparison of the two answers in a sentence. */
export function inShort(a: Headline, b: Headline): string {
  const ratio = ratioOf(a.rate ?? null, b.rate ?? null);
  if (ratio === null || ratio === 0) return ratio === 0 ? "B moves no data." : "A moves no data, so there is no ratio.";
  if (Math.abs(Math.log(ratio)) < SAME) return `Both give ${rate(a.rate)}, within half a percent.`;
  const of = a.of === b.of ? "" : ` (A: ${a.of}; B: ${b.of})`;
  return `B gives ${percent(Math.abs(ratio - 1))} ${ratio > 1 ? "more" : "less"} than A: ${rate(b.rate)} in place of ${rate(a.rate)}${of}.`;
}

/** What limits the two. */
export function limiters(a: Results, b: Results): string {
  const [was, now] = [a, b].map(({ limited_by }) => limited_by?.sentence ?? "Nothing was found to limit it") as [string, string];
  if (was === now) return `${was}, in both.`;
  if (a.limited_by && a.limited_by.name === b.limited_by?.name) return `In both the same: ${lower(was)}; now ${lower(now)}.`;
  return `${was}. Now ${lower(now)}.`;
}

function lower(sentence: string): string {
  return sentence.slice(0, 1).toLowerCase() + sentence.slice(1);
}

function perSecond(value: number): string {
  return `${whole(value)} /s`;
}
