/**
 * Taking out of a rig, as a text that becomes another: a device goes with all that hangs on it, and with what names any of these.
 *
 * Nothing here knows what fits: the core is asked about the text that an act would give.
 */
import type { Device, Rig } from "../rig/topology.ts";
import { readToml } from "../toml/edit.ts";
import type { Keys } from "../toml/place.ts";
import { type Table, at, tableAt } from "../toml/plain.ts";
import { partsOf, referencesIn, withReferences } from "../toml/references.ts";
import { withoutKey, withoutSection } from "../toml/sections.ts";
import { type Act, countOf, find, isGroup, keysOf, numbersShift, withKey } from "./acts.ts";

/** Without a device, all that hangs on it, and the work that only these did. A sentence where that cannot be. */
export function without(text: string, device: string, rig: Rig): Act | string | null {
  const gone = new Set<string>();
  const down = (each: Device): void => {
    gone.add(each.name);
    each.below.forEach(down);
  };
  const found = find(rig.roots, device);
  if (!found) return null;
  down(found);
  const written = readToml(text) ?? {};
  const left = new Map<string, number[]>();
  for (const name of gone) {
    const { group } = partsOf(name);
    const keys = keysOf(written, group);
    if (!keys) return null;
    const before = left.get(group) ?? members(written, keys);
    left.set(group, before.filter((index) => (isGroup(written, keys) ? `${group}[${index}]` : group) !== name));
  }
  return withoutGroups(text, written, left, device, gone.size);
}

/** Without the one piece of work with this number. */
export function withoutWorkload(text: string, index: number): Act {
  return { text: withoutSection(text, ["workload", index]), said: "Deleted the workload.", device: null };
}

/** `left` has, by group, the members that stay. */
function withoutGroups(text: string, written: Table, left: Map<string, number[]>, device: string, count: number): Act | string | null {
  const lost = new Set<string>();
  for (const [group, stay] of left) if (stay.length === 0) lost.add(group);
  // What is not PCI Express, and hangs on what goes: drives behind an adapter, cables, what runs on a host.
  for (const section of ["storage", "system", "network"]) {
    for (const [name, table] of Object.entries(tableAt(written, section))) {
      const ends = section === "network" ? at(table, ["ends"]) : [at(table, ["attach"])];
      if (Array.isArray(ends) && ends.some((end) => isGone(String(end), left))) lost.add(name);
    }
  }
  let made = text;
  const idle = idleWork(text, written, left, lost);
  for (const index of [...idle].sort((one, other) => other - one)) made = withoutSection(made, ["workload", index]);
  for (const [group, stay] of left) {
    const isLess = stay.length < members(written, keysOf(written, group) ?? []).length;
    const shifted = isLess ? numbersShift(made, readToml(made) ?? {}, group) : null;
    if (shifted !== null) return shifted;
  }
  made = withoutNames(made, left, lost);
  made = withReferences(made, ({ value }) => renumbered(value, left));
  for (const [group, stay] of left) {
    const keys = keysOf(written, group);
    if (!keys) return null;
    const next = stay.length === 0 ? withoutSection(made, keys) : stay.length < members(written, keys).length ? withKey(made, [...keys, "count"], String(stay.length)) : made;
    if (next === null) return null;
    made = next;
  }
  for (const name of lost) {
    const keys = keysOf(written, name);
    if (keys && !left.has(name)) made = withoutSection(made, keys);
    made = withoutChip(made, name);
  }
  const more = [count > 1 ? `${count - 1} below it` : "", idle.size > 0 ? (idle.size === 1 ? "its workload" : `${idle.size} workloads`) : ""].filter(Boolean);
  return { text: made, said: `Deleted ${device}${more.length > 0 ? `, and ${more.join(" and ")}` : ""}. Undo brings it back.`, device: null };
}

/** The other partitions of a switch that goes: the first of them is the whole, and the rest are partitions of that. */
function withoutChip(text: string, name: string): string {
  const others = Object.entries(tableAt(readToml(text), "switch")).flatMap(([other, table]) => (at(table, ["partition_of"]) === name ? [other] : []));
  const [first, ...rest] = others;
  if (first === undefined) return text;
  const whole = withoutKey(text, ["switch", first, "partition_of"]);
  return rest.reduce((made, other) => withKey(made, ["switch", other, "partition_of"], JSON.stringify(first)) ?? made, whole);
}

/** Workloads that have no device any more. */
function idleWork(text: string, written: Table, left: Map<string, number[]>, lost: Set<string>): Set<number> {
  const all = Array.isArray(written["workload"]) ? written["workload"] : [];
  const idle = new Set<number>();
  for (const { keys, value, list } of referencesIn(text)) {
    const index = keys[1];
    if (keys[0] !== "workload" || typeof index !== "number" || !all[index]) continue;
    const names = list ? list.values : [value];
    if (names.every((name) => isGone(name, left) || lost.has(partsOf(name).group))) idle.add(index);
  }
  return idle;
}

/** Lists without what is gone. */
function withoutNames(text: string, left: Map<string, number[]>, lost: Set<string>): string {
  const done = new Set<number>();
  let made = text;
  for (const { list } of referencesIn(text).reverse()) {
    if (!list || done.has(list.range[0])) continue;
    done.add(list.range[0]);
    const stay = list.values.filter((name) => !isGone(name, left) && !lost.has(partsOf(name).group));
    if (stay.length === list.values.length || stay.length === 0) continue;
    made = made.slice(0, list.range[0]) + `[${stay.map((name) => JSON.stringify(name)).join(", ")}]` + made.slice(list.range[1]);
  }
  return made;
}

function isGone(name: string, left: Map<string, number[]>): boolean {
  const { group, index } = partsOf(name);
  const stay = left.get(group);
  return stay !== undefined && (stay.length === 0 || (typeof index === "number" && !stay.includes(index)));
}

/** A member whose group lost one before it. */
function renumbered(name: string, left: Map<string, number[]>): string | null {
  const { group, index, rest } = partsOf(name);
  const stay = left.get(group);
  return stay && typeof index === "number" && stay.includes(index) ? `${group}[${stay.indexOf(index)}]${rest}` : null;
}

function members(written: Table, keys: Keys): number[] {
  return Array.from({ length: countOf(written, keys) }, (_, index) => index);
}
