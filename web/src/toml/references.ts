/** Where a scenario file names its devices: `nvme`, `nvme[3]`, `nvme[*]`, `sw0.port1`; and those names changed in place. */
import { type AST, parseTOML } from "toml-eslint-parser";
import type { Keys } from "./place.ts";

/** Keys whose value names a device, or a port of one. */
const NAMING = new Set([
  "attach", "ends", "retimers", "cable", "partition_of", "to", "from", "device", "devices", "target", "targets", "gpus", "filename", "network", "iomem", "staging", "assigned_to",
]);

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
  const pair = (each: AST.TOMLKeyValue, above: Keys): void => {
    const keys = [...above, ...each.key.keys.map((key) => (key.type === "TOMLBare" ? key.name : key.value))];
    value(each.value, keys, NAMING.has(String(keys.at(-1))), null);
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
