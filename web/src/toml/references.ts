/** Where a scenario file names its components: `nvme`, `nvme[3]`, `nvme[*]`, `sw0.port1`; and those names changed in place. */
import { type AST, parseTOML } from "toml-eslint-parser";
import { readToml } from "./edit.ts";
import { NAMES } from "./names.ts";
import type { Keys } from "./place.ts";
import { type Table, at } from "./plain.ts";

/** One of them. */
export interface Reference {
  /** Keys of the value, with its number in a list. */
  keys: Keys;
  /** As it is written. */
  value: string;
  /** Letters of it, quotes included. */
  range: [number, number];
  /** The list that it is one of. */
  list: { range: [number, number]; values: string[] } | null;
}

/** All of a text, in order. */
export function referencesIn(text: string): Reference[] {
  const found: Reference[] = [];
  const written = readToml(text) ?? {};
  const pair = (each: AST.TOMLKeyValue, above: Keys): void => {
    const keys = [...above, ...each.key.keys.map((key) => (key.type === "TOMLBare" ? key.name : key.value))];
    value(each.value, keys, namedBy(written, keys) === "components", null);
  };
  const value = (node: AST.TOMLContentNode, keys: Keys, isNaming: boolean, list: Reference["list"]): void => {
    if (node.type === "TOMLInlineTable") {
      for (const each of node.body) pair(each, keys);
    } else if (node.type === "TOMLArray") {
      const values = node.elements.flatMap((each) => (each.type === "TOMLValue" && each.kind === "string" ? [each.value] : []));
      for (const [index, each] of node.elements.entries()) value(each, [...keys, index], isNaming, { range: node.range, values });
    } else if (isNaming && node.kind === "string") {
      found.push({ keys, value: node.value, range: node.range, list });
    }
  };
  for (const each of parseTOML(text).body[0].body) {
    if (each.type === "TOMLKeyValue") pair(each, []);
    else for (const inner of each.body) pair(inner, each.resolvedKey);
  }
  return found;
}

/** What the texts at a place of a scenario file name, as its schema says; null for other values. */
export function namedBy(written: Table, keys: Keys): "components" | "places" | null {
  const [section, name, ...inner] = keys;
  const kind = section === "workload" && typeof name === "number" ? ` ${String(at(written, [section, name, "kind"]))}` : "";
  const known = NAMES[`${String(section)}${kind}`] ?? {};
  // `{ value = …, provenance = … }` stands for the value alone.
  const path = inner.at(-1) === "value" ? inner.slice(0, -1) : inner;
  const isAt = (pattern: string[]): boolean => {
    return pattern.length === path.length && path.every((key, index) => (typeof key === "number" ? pattern[index] === "#" : [key, "*"].includes(pattern[index] ?? "")));
  };
  return Object.entries(known).find(([pattern]) => isAt(pattern.split(".")))?.[1] ?? null;
}

/** What a key of a workload of some kind names, if it names something that carries traffic; of any kind, where none is written yet. */
export function carriersNamedBy(kind: string | null, key: string): "device" | "network" | null {
  const kinds = kind === null ? Object.keys(NAMES).filter((each) => each.startsWith("workload ")) : [`workload ${kind}`];
  if (!kinds.some((each) => NAMES[each]?.[key] === "components")) return null;
  if (key === "network" || key === "networks") return "network";
  // Where a drive moves to is a port.
  return key === "to" ? null : "device";
}

/** Number of the first workload that names members of a group by their places in its list `devices`; null where there is none. */
export function placesOf(written: Table, group: string): number | null {
  const all = Array.isArray(written["workload"]) ? written["workload"] : [];
  const found = all.findIndex((workload, index) => {
    const devices = at(workload, ["devices"]);
    const isIn = Array.isArray(devices) && devices.some((each) => partsOf(String(each)).group === group);
    const isWritten = (key: string): boolean => namedBy(written, ["workload", index, key]) === "places" && !isEmpty(at(workload, [key]));
    return isIn && Object.keys(workload as Table).some(isWritten);
  });
  return found < 0 ? null : found;
}

function isEmpty(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0);
}

/** A name in its parts: `nvme[3].port1` is of the group `nvme`, its member 3, and `.port1` of it. */
export function partsOf(name: string): { group: string; index: number | "*" | null; rest: string } {
  const found = /^([^.[\]]+)(?:\[(\d+|\*)\])?(.*)$/s.exec(name);
  if (!found) return { group: name, index: null, rest: "" };
  const index = found[2] === undefined ? null : found[2] === "*" ? "*" : Number(found[2]);
  return { group: found[1] ?? name, index, rest: found[3] ?? "" };
}

/** The text with each reference as `change` has it; null leaves one as it is. */
export function withReferences(text: string, change: (reference: Reference) => string | null): string {
  let changed = text;
  for (const reference of referencesIn(text).reverse()) {
    const made = change(reference);
    if (made === null || made === reference.value) continue;
    changed = changed.slice(0, reference.range[0]) + JSON.stringify(made) + changed.slice(reference.range[1]);
  }
  return changed;
}
