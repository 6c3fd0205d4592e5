/**
 * What the schema of scenario files says of a key: for completion, for hover text, and for the kind of value that it takes.
 *
 * The schema is generated from the core and comes from the simulator. Most values may be written alone or as a table that also says
 * where the value comes from; only the first is looked at.
 */
import { SECTIONS } from "./names.ts";
import { type Table, at, isTable, tableAt, textAt } from "./plain.ts";

export interface Choice {
  value: string;
  description: string;
}

/** What is known of a key. */
export interface Meaning {
  description: string;
  /** Words that it may be. */
  choices: Choice[];
  /** Examples of other values. */
  examples: string[];
  /** Numbers or true and false, written without quotes. */
  isBare: boolean;
  /** Whole numbers are what it takes, beside words. */
  isWhole: boolean;
  /** Keys of the table that it is; empty for a value. */
  keys: string[];
  /** Those of them that must be there. */
  required: string[];
  /** What it is a list of. */
  listOf: "texts" | "tables" | null;
}

/**
 * What the schema says of a path.
 *
 * @param kind of the workload, where the path is of one
 */
export function meaningOf(schema: Table, path: readonly (string | number)[], kind: string | null): Meaning | null {
  const found = walk(schema, path, kind);
  if (!found) return null;
  const value = plain(found);
  const table = alternatives(value).find((each) => isTable(each["properties"]) && !saysWhence(each));
  const choices = alternatives(value).flatMap(words);
  return {
    description: textAt(found, "description") || textAt(value, "description"),
    choices: choices.filter((choice, index) => choices.findIndex((each) => each.value === choice.value) === index),
    examples: alternatives(value).flatMap((each) => (Array.isArray(each["examples"]) ? each["examples"].map(String) : [])),
    isBare: isBare(value),
    isWhole: alternatives(value).some((each) => each["type"] === "integer"),
    keys: table ? Object.keys(tableAt(table, "properties")) : [],
    required: table && Array.isArray(table["required"]) ? table["required"].map(String) : [],
    listOf: listOf(value),
  };
}

/** Names of tables at the top: `host`, `endpoint` and so on. */
export function sections(schema: Table): string[] {
  return Object.keys(tableAt(schema, "properties"));
}

/** Whether tables of a section have names. */
export function isNamed(section: string): boolean {
  return SECTIONS.includes(section);
}

function walk(schema: Table, path: readonly (string | number)[], kind: string | null): Table | null {
  let here: Table | null = schema;
  for (const key of path) {
    if (!here) return null;
    here = typeof key === "number" ? item(here, kind) : property(here, key);
  }
  return here;
}

/** Of several kinds of workload the one that is meant; where none is said, the key that says it, and what other keys mean for the first kind that has them. */
function item(array: Table, kind: string | null): Table | null {
  const items = tableAt(array, "items");
  const kinds = Array.isArray(items["oneOf"]) ? items["oneOf"].filter(isTable) : [];
  if (kinds.length === 0) return items;
  const meant = kinds.find((each) => at(each, ["properties", "kind", "const"]) === kind);
  if (meant) return meant;
  const choices = kinds.map((each) => ({ const: at(each, ["properties", "kind", "const"]), description: each["description"] }));
  const properties = { kind: { description: "Kind of the workload.", oneOf: choices } };
  return { properties, [ANY_KIND]: Object.assign({}, ...kinds.map((each) => tableAt(each, "properties")).reverse()) };
}

/** Keys of workloads of all kinds: known, but not offered before the kind is. */
const ANY_KIND = "x-any-kind";

function property(table: Table, key: string): Table | null {
  for (const each of alternatives(table)) {
    const named = at(each, ["properties", key]);
    if (isTable(named)) return named;
  }
  for (const each of alternatives(table)) {
    const other = each["additionalProperties"];
    if (isTable(other)) return other;
  }
  const other = at(table, [ANY_KIND, key]);
  return isTable(other) ? other : null;
}

/** A node and all that it may be instead, however deep. */
function alternatives(node: Table): Table[] {
  const inner = [node["anyOf"], node["oneOf"]].flatMap((list) => (Array.isArray(list) ? list.filter(isTable) : []));
  return [node, ...inner.flatMap(alternatives)];
}

/** The alternative without a provenance. */
function plain(node: Table): Table {
  const several = Array.isArray(node["anyOf"]) ? node["anyOf"].filter(isTable) : [];
  const alone = several.filter((each) => !saysWhence(each));
  return alone.length === 1 && alone.length < several.length ? (alone[0] as Table) : node;
}

/** `{ value = …, provenance = … }`. */
function saysWhence(node: Table): boolean {
  return node["$ref"] === "#/$defs/sourced";
}

function words(node: Table): Choice[] {
  if (typeof node["const"] === "string") return [{ value: node["const"], description: textAt(node, "description") }];
  if (node["type"] === "boolean") return ["true", "false"].map((value) => ({ value, description: "" }));
  const several = Array.isArray(node["enum"]) ? node["enum"] : [];
  return several.filter((each) => typeof each === "string").map((value) => ({ value, description: "" }));
}

function listOf(value: Table): "texts" | "tables" | null {
  const list = alternatives(value).find((each) => each["type"] === "array");
  return list ? (isTable(at(list, ["items", "properties"])) ? "tables" : "texts") : null;
}

function isBare(value: Table): boolean {
  const types = alternatives(value).map((each) => each["type"]);
  return types.some((type) => type === "boolean" || type === "integer" || type === "number") && !types.includes("string");
}
