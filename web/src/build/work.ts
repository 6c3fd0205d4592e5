/** A workload as a form: which kinds there are, what each needs, and what it may say besides; from the schema. */
import type { Table } from "../toml/plain.ts";
import { carriersNamedBy } from "../toml/references.ts";
import { type Choice, meaningOf } from "../toml/schema.ts";

export interface Field {
  key: string;
  description: string;
  isRequired: boolean;
  /** Words that it may be; empty for anything else. */
  choices: Choice[];
  example: string;
  /** Numbers, true and false. */
  isBare: boolean;
  isList: boolean;
  /** What it names. */
  names: "device" | "network" | null;
}

/** What one asks for besides what is needed, where a kind has it. */
const ASKED = ["target", "size", "bs", "frame", "outstanding", "iodepth", "name"];

/** Kinds of workload that a form has room for, with what they are. A kind that needs a table is written in the text. */
export function kindsOf(schema: Table): Choice[] {
  const kinds = meaningOf(schema, ["workload", 0, "kind"], null)?.choices ?? [];
  return kinds.filter((kind) => fieldsOf(schema, kind.value) !== null);
}

/** Fields of a kind: those that are needed first. */
export function fieldsOf(schema: Table, kind: string): Field[] | null {
  const work = meaningOf(schema, ["workload", 0], kind);
  if (!work) return null;
  const required = work.required.filter((key) => key !== "kind");
  const keys = [...required, ...ASKED.filter((key) => work.keys.includes(key) && !required.includes(key))];
  const fields: Field[] = [];
  for (const key of keys) {
    const meaning = meaningOf(schema, ["workload", 0, key], kind);
    const isRequired = required.includes(key);
    if (!meaning || meaning.listOf === "tables") {
      if (isRequired) return null;
      continue;
    }
    const names = carriersNamedBy(kind, key);
    const choices = meaning.examples.length > 0 ? [] : meaning.choices;
    fields.push({ key, description: meaning.description, isRequired, choices, example: meaning.examples[0] ?? "", isBare: meaning.isBare, isList: meaning.listOf === "texts", names });
  }
  return fields;
}

/** What is filled in as TOML has it; what is left empty is left out. */
export function literals(kind: string, fields: readonly Field[], filled: Readonly<Record<string, string>>): [string, string][] {
  const said = fields.flatMap((field): [string, string][] => {
    const value = (filled[field.key] ?? "").trim();
    if (value === "") return [];
    if (field.isList) return [[field.key, `[${value.split(/\s*,\s*/).map((each) => JSON.stringify(each)).join(", ")}]`]];
    return [[field.key, field.isBare ? value : JSON.stringify(value)]];
  });
  return [["kind", JSON.stringify(kind)], ...said];
}
