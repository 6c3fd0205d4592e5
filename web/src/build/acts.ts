/**
 * What one does to a rig, each as a text that becomes another: a part is added, moved, or there is one more of it.
 *
 * Nothing here knows what fits: the core is asked about the text that an act would give.
 */
import type { Part } from "lanewise";
import type { Device, Rig } from "../rig/topology.ts";
import { ofPort } from "../rig/topology.ts";
import { applied, readToml, setKey } from "../toml/edit.ts";
import { SECTIONS } from "../toml/names.ts";
import type { Keys } from "../toml/place.ts";
import { type Table, at, tableAt } from "../toml/plain.ts";
import { partsOf, placesOf, referencesIn, withReferences } from "../toml/references.ts";
import { renamed, sectionText, withSection, withoutKey } from "../toml/sections.ts";
import { stemOf } from "./parts.ts";

/** A text after an act, and what the act did. */
export interface Act {
  text: string;
  said: string;
  /** The device that it is about, which is chosen next. */
  device: string | null;
}

/** In the order that they are written in. */
const ABOVE: Record<string, string[]> = {
  host: [],
  switch: ["host"],
  endpoint: ["switch", "host"],
  storage: ["endpoint"],
  system: ["host", "endpoint"],
};

/** A part of the catalog on a port, below a device, or as a host of its own. */
export function withPart(text: string, part: Part, attach: string | null): Act {
  const name = freeName(stemOf(part), readToml(text) ?? {}, part.kind === "host");
  const lines = [`[${part.kind}.${name}]`, `part = ${JSON.stringify(part.name)}`];
  if (attach !== null) lines.push(`attach = ${JSON.stringify(attach)}`);
  const said = attach === null ? `Added ${name}.` : `Added ${name} to ${attach}.`;
  return { text: withSection(text, lines.join("\n"), part.kind, ABOVE[part.kind] ?? []), said, device: name };
}

/** A device on another port, with all that hangs on it. One of several leaves its group for that. A sentence where that cannot be. */
export function moved(text: string, device: string, port: string, rig: Rig): Act | string | null {
  const written = readToml(text) ?? {};
  const { group, index } = partsOf(device);
  const keys = keysOf(written, group);
  if (!keys) return null;
  const count = countOf(written, keys);
  if (typeof index !== "number" || count <= 1) {
    const made = withKey(text, [...keys, "attach"], JSON.stringify(port));
    return made === null ? null : { text: made, said: `Moved ${device} to ${port}.`, device };
  }
  const shifted = numbersShift(text, written, group);
  if (shifted !== null) return shifted;
  const name = freeName(group, written, false);
  const alone = withoutKeyOf(renamed(sectionText(text, keys), keys, [keys[0] as string, name]), [keys[0] as string, name], "count");
  const attached = withKey(alone, [keys[0] as string, name, "attach"], JSON.stringify(port));
  const fewer = withKey(text, [...keys, "count"], String(count - 1));
  if (attached === null || fewer === null) return null;
  const split = insertedBehind(withSplit(fewer, group, index, name), keys, attached);
  const made = withThoseBelow(split, find(rig.roots, device)?.below ?? [], name, rig);
  return made === null ? null : { text: made, said: `Moved ${device} to ${port}. It is ${name} now, since ${group} is a group on other ports.`, device: name };
}

/** What hung on a member of a group, on the switch that it has become. From the last on, since their numbers close up. */
function withThoseBelow(text: string, below: readonly Device[], name: string, rig: Rig): string | null {
  let made: string | null = text;
  for (const each of [...below].reverse()) {
    const { group, index } = partsOf(each.name);
    const keys = keysOf(readToml(made) ?? {}, group);
    const attach = keys && at(readToml(made), [...keys, "attach"]);
    // One that is attached to this very port has gone with it.
    if (typeof index !== "number" || String(attach).startsWith(`${name}.`)) continue;
    const act = moved(made, each.name, `${name}.${each.port}`, rig);
    if (act === null || typeof act === "string") return null;
    made = act.text;
  }
  return made;
}

/** Why the numbers of a group's members cannot change: what goes by places or ranges of them would mean others. Null where they can. */
export function numbersShift(text: string, written: Table, group: string): string | null {
  const workload = placesOf(written, group);
  if (workload !== null) return `${calledWork(written, workload)} names devices by their place in a list, and these places would change. Write it in the editor.`;
  const range = referencesIn(text).find(({ value }) => value.startsWith(`${group}[`) && /^\[\d+\.\./.test(partsOf(value).rest));
  return range ? `${range.value} would then be other devices. Write it in the editor.` : null;
}

function calledWork(written: Table, index: number): string {
  const name = at(written, ["workload", index, "name"]) ?? at(written, ["workload", index, "kind"]);
  return `The workload ${String(name)}`;
}

/** One more of a device: a larger group, or where that cannot be a group, a section of its own on a free port. */
export function oneMore(text: string, device: string, rig: Rig): Act[] {
  const written = readToml(text) ?? {};
  const { group } = partsOf(device);
  const keys = keysOf(written, group);
  if (!keys) return [];
  const acts: Act[] = [];
  const larger = enlarged(text, written, keys, group);
  if (larger) acts.push(larger);
  const name = freeName(group, written, false);
  const free = freePorts(rig, device);
  const own = withoutKeyOf(renamed(sectionText(text, keys), keys, [keys[0] as string, name]), [keys[0] as string, name], "count");
  for (const port of keys[0] === "host" ? [null] : free.slice(0, 4)) {
    const attached = port === null ? own : withKey(own, [keys[0] as string, name, "attach"], JSON.stringify(port));
    if (attached === null || own === "") continue;
    const made = withWork(insertedBehind(text, keys, attached), device, name);
    acts.push({ text: made, said: port === null ? `Added ${name}, as ${group} is.` : `Added ${name} to ${port}, as ${device} is.`, device: name });
  }
  return acts;
}

/** With another workload, whose keys and values are TOML. */
export function withWorkload(text: string, values: readonly [key: string, literal: string][]): Act {
  const block = ["[[workload]]", ...values.map(([key, literal]) => `${key} = ${literal}`)].join("\n");
  return { text: withSection(text, block, "workload"), said: "Added a workload.", device: null };
}

/** Ports that are free, those beside the device first. */
export function freePorts(rig: Rig, beside: string | null): string[] {
  const above = beside === null ? null : find(rig.roots, beside)?.link?.upper;
  const all = everyDevice(rig).flatMap((each) => each.free.flatMap((group) => group.ports));
  const isNear = (port: string): boolean => above !== null && above !== undefined && ofPort(port).device === ofPort(above).device;
  return [...all.filter(isNear), ...all.filter((port) => !isNear(port))];
}

export function everyDevice(rig: Rig): Device[] {
  const all = (each: Device): Device[] => [each, ...each.below.flatMap(all)];
  return rig.roots.flatMap(all);
}

export function find(devices: readonly Device[], name: string): Device | null {
  for (const each of devices) {
    const found = each.name === name ? each : find(each.below, name);
    if (found) return found;
  }
  return null;
}

/** One member of a group under a name of its own. */
function withSplit(text: string, group: string, member: number, name: string): string {
  const renamedAll = withReferences(text, (reference) => {
    const { group: of, index, rest } = partsOf(reference.value);
    if (of !== group || typeof index !== "number" || index < member) return null;
    return index === member ? name + rest : `${group}[${index - 1}]${rest}`;
  });
  return withWork(renamedAll, `${group}[*]`, name);
}

/** What works on one device works on another as well: in lists beside it, else as a workload of its own. */
function withWork(text: string, device: string, name: string): string {
  const group = `${partsOf(device).group}[*]`;
  const named = (value: string): boolean => value === device || value === group;
  let made = text;
  const copies: string[] = [];
  const done = new Set<number>();
  for (const { keys, value, list } of referencesIn(text).reverse()) {
    const index = keys[1];
    if (keys[0] !== "workload" || typeof index !== "number" || !named(value)) continue;
    if (list) {
      if (done.has(list.range[0])) continue;
      done.add(list.range[0]);
      made = made.slice(0, list.range[0]) + `[${[...list.values, name].map((each) => JSON.stringify(each)).join(", ")}]` + made.slice(list.range[1]);
    } else if (keys.at(-1) === "device") {
      copies.unshift(copyOfWork(text, index, name));
    }
  }
  return copies.reduce((before, block) => withSection(before, block, "workload"), made);
}

function copyOfWork(text: string, index: number, name: string): string {
  const block = sectionText(text, ["workload", index]);
  const device = withKey(block, ["workload", 0, "device"], JSON.stringify(name)) ?? block;
  const called = at(readToml(block), ["workload", 0, "name"]);
  return typeof called === "string" ? (withKey(device, ["workload", 0, "name"], JSON.stringify(`${called}_${name}`)) ?? device) : device;
}

/** A group that has one more; a single device becomes a group of two. */
function enlarged(text: string, written: Table, keys: Keys, group: string): Act | null {
  const attach = at(written, [...keys, "attach"]);
  if (keys[0] === "host" || typeof attach !== "string") return null;
  const count = countOf(written, keys);
  let made = withKey(text, [...keys, "count"], String(count + 1));
  if (made !== null && !attach.endsWith(".*")) made = withKey(made, [...keys, "attach"], JSON.stringify(`${ofPort(attach).device}.*`));
  if (made === null) return null;
  // Behind the new one in a list of devices, all have another place.
  const workload = placesOf(written, group);
  const devices = workload === null ? [] : at(written, ["workload", workload, "devices"]);
  if (Array.isArray(devices) && devices.slice(0, -1).some((each) => partsOf(String(each)).group === group)) return null;
  if (!isGroup(written, keys)) {
    const others = referencesIn(text).some(({ keys: of, value }) => of[0] !== "workload" && partsOf(value).group === group);
    if (others) return null;
    made = withReferences(made, ({ value }) => (value === group ? `${group}[*]` : null));
  }
  return { text: made, said: `There are ${count + 1} of ${group} now.`, device: `${group}[${count}]` };
}

function insertedBehind(text: string, keys: Keys, block: string): string {
  return withSection(text, block, keys[0] as string);
}

export function withKey(text: string, keys: Keys, literal: string): string | null {
  const edit = setKey(text, keys, literal);
  return edit && applied(text, edit);
}

function withoutKeyOf(section: string, keys: Keys, key: string): string {
  return withoutKey(section, [...keys, key]);
}

/** Where a component is written. */
export function keysOf(written: Table, group: string): Keys | null {
  const section = SECTIONS.find((each) => Object.hasOwn(tableAt(written, each), group));
  return section === undefined ? null : [section, group];
}

export function isGroup(written: Table, keys: Keys): boolean {
  return at(written, [...keys, "count"]) !== undefined;
}

export function countOf(written: Table, keys: Keys): number {
  const count = at(written, [...keys, "count"]);
  return typeof count === "number" || typeof count === "bigint" ? Number(count) : 1;
}

/** A name that no component has: the stem alone for the first host, else the stem with a number. */
function freeName(stem: string, written: Table, isPlain: boolean): string {
  const taken = new Set(SECTIONS.flatMap((section) => Object.keys(tableAt(written, section))));
  if (isPlain && !taken.has(stem)) return stem;
  const base = stem.replace(/\d+$/, "");
  let number = isPlain ? 2 : 0;
  while (taken.has(`${base}${number}`)) number++;
  return `${base}${number}`;
}

