/**
 * Which values that no specification fixes a run may rest on, and what to vary them to. What may be varied, and to what, is as the
 * package has it (`candidates.py`; a test compares the two). Which of these are shown first follows its reports (`assumptions.py`), and
 * goes beyond them: what the suggested edits of the limit set comes before all else, and a group counts as one component.
 */
import type { Assumption, Results } from "lanewise";

import { kindOfUnit } from "../explore/quantity.ts";

/** Values of equal parts that are equal, varied together. */
export interface Candidate {
  paths: string[];
  value: string;
  provenance: string;
  source: string;
  /** Chosen so that nothing depends on it. */
  isOutOfTheWay: boolean;
  lower: string;
  higher: string;
}

/** Relative change of a number. */
const STEP = 0.2;
const VARIED = ["assumed", "calibrated", "published"];
const POWERS_OF_TWO = ["mps", "mrrs", "rcb", "completion_combine", "mps_supported", "read_request"];
const QUANTITY = /^(\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?: ([A-Za-z/%]+))?$/;
/** What moves no time when it is varied a little. */
const NOT_VARIED = ["capacity", "memory_base", "mmio_base", "register_bar", "memory_bar", "seed", "count", "event_limit", "memory_limit", "confidence_level"];
const ORDER = ["assumed", "calibrated", "published", "datasheet"];

/** Numbers of what the data went through: those that say how large the limit is first, then those of the component that it is of. */
export function thatMayMatter(results: Results): Candidate[] {
  const busy = results.links.filter(({ upstream, downstream }) => upstream.ladder.goodput_gb_per_s > 0 || downstream.ladder.goodput_gb_per_s > 0);
  const onTheWay = new Set(busy.flatMap(({ name, upper, lower }) => [name, componentOf(upper), componentOf(lower)]).flatMap((name) => [name, groupOf(name)]));
  const limit = groupOf(results.limited_by?.places[0]?.component ?? "");
  const ofLimit = new Set(results.limited_by?.edits.flatMap(({ settings }) => settings.map(({ path }) => path)));
  const rank = ({ paths, provenance }: Candidate): number => {
    if (paths.some((path) => ofLimit.has(path))) return -1;
    return (componentOf(paths[0] ?? "") === limit ? 0 : ORDER.length) + Math.max(0, ORDER.indexOf(provenance));
  };
  return candidatesOf(results.assumptions)
    .filter(({ paths, isOutOfTheWay }) => onTheWay.has(componentOf(paths[0] ?? "")) && !isOutOfTheWay)
    .sort((one, other) => rank(one) - rank(other));
}

/** What may be varied, equal parts together. */
export function candidatesOf(assumptions: readonly Assumption[]): Candidate[] {
  const grouped = new Map<string, Assumption[]>();
  for (const one of assumptions) {
    if (!VARIED.includes(one.provenance) || NOT_VARIED.includes(leafOf(one.path))) continue;
    const key = JSON.stringify([one.path.replaceAll(/\d+(?=\.|$)/g, "#"), one.value, one.provenance]);
    grouped.set(key, [...(grouped.get(key) ?? []), one]);
  }
  return [...grouped.values()].flatMap((alike) => {
    const [{ path, value, provenance, source, is_out_of_the_way: isOutOfTheWay }] = alike as [Assumption, ...Assumption[]];
    const ways = bothWays(leafOf(path), value);
    return ways ? [{ paths: alike.map((one) => one.path), value, provenance, source, isOutOfTheWay, ...ways }] : [];
  });
}

function bothWays(leaf: string, value: string): { lower: string; higher: string } | null {
  const [, number, unit] = QUANTITY.exec(value) ?? [];
  if (number === undefined || Number(number) === 0) return null;
  const isWhole = !/[.e]/.test(number) && !["rate", "time"].includes(kindOfUnit(unit ?? ""));
  const factors = POWERS_OF_TWO.includes(leaf) ? [0.5, 2] : [1 - STEP, 1 + STEP];
  const texts = factors.map((factor) => (isWhole ? String(Math.max(1, evenly(Number(number) * factor))) : String(Number((Number(number) * factor).toPrecision(6)))));
  if (isWhole && texts[1] === number) texts[1] = String(Number(number) + 1);
  if (isWhole && texts[0] === number && number !== "1") texts[0] = String(Number(number) - 1);
  const [lower, higher] = texts.map((text) => `${text} ${unit ?? ""}`.trim()) as [string, string];
  return value === lower && value === higher ? null : { lower, higher };
}

/** To the nearest whole number, halves to the even one. */
function evenly(value: number): number {
  const down = Math.floor(value);
  if (value - down !== 0.5) return Math.round(value);
  return down % 2 === 0 ? down : down + 1;
}

function leafOf(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}

function componentOf(path: string): string {
  return path.split(".", 1)[0] ?? "";
}

function groupOf(device: string): string {
  return device.replace(/\[\d+\]$/, "");
}
