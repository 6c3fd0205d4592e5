/** The smallest edit of a text of TOML that gives a key a value: what is beside it, comments and order included, stays. */
import { type AST, getStaticTOMLValue, parseTOML } from "toml-eslint-parser";
import type { Keys } from "./place.ts";
import { type Table, isTable } from "./plain.ts";

/** Letters `from` to `to` are replaced. */
export interface Edit {
  from: number;
  to: number;
  insert: string;
}

/** The file as plain data; null when it is no TOML. */
export function readToml(text: string): Table | null {
  try {
    const read: unknown = getStaticTOMLValue(parseTOML(text));
    return isTable(read) ? read : null;
  } catch {
    return null;
  }
}

/**
 * Sets a key.
 *
 * @param literal the value as TOML has it: `"4 KiB"`, `true`, `16`
 * @returns null when the text is no TOML, or when the edit would not be
 */
export function setKey(text: string, keys: Keys, literal: string): Edit | null {
  try {
    const top = parseTOML(text).body[0];
    const edit = replaced(top, keys, literal) ?? inserted(text, top, keys, literal) ?? appended(text, keys, literal);
    if (!edit) return null;
    parseTOML(applied(text, edit));
    return edit;
  } catch {
    return null;
  }
}

export function applied(text: string, edit: Edit): string {
  return text.slice(0, edit.from) + edit.insert + text.slice(edit.to);
}

/** A value as TOML has it: numbers, true and false bare, all else in quotes. */
export function literalOf(value: string, isBare: boolean): string {
  return isBare ? value : JSON.stringify(value);
}

/** Something that has keys: a table under its heading, or one in braces. */
interface Home {
  keys: Keys;
  node: AST.TOMLTopLevelTable | AST.TOMLTable | AST.TOMLInlineTable;
  pairs: AST.TOMLKeyValue[];
}

function homes(top: AST.TOMLTopLevelTable): Home[] {
  const direct = top.body.filter((each) => each.type === "TOMLKeyValue");
  const tables = top.body.filter((each) => each.type === "TOMLTable");
  const found: Home[] = [{ keys: [], node: top, pairs: direct }];
  for (const table of tables) found.push({ keys: table.resolvedKey, node: table, pairs: table.body });
  // Grows while it is gone through: what is in braces may hold braces.
  for (const home of found) {
    for (const pair of home.pairs) {
      if (pair.value.type !== "TOMLInlineTable") continue;
      found.push({ keys: [...home.keys, ...names(pair.key)], node: pair.value, pairs: pair.value.body });
    }
  }
  return found;
}

function replaced(top: AST.TOMLTopLevelTable, keys: Keys, literal: string): Edit | null {
  for (const home of homes(top)) {
    for (const pair of home.pairs) {
      if (!isSame([...home.keys, ...names(pair.key)], keys)) continue;
      const value = pair.value.type === "TOMLInlineTable" ? valueOf(pair.value) : pair.value;
      return value && { from: value.range[0], to: value.range[1], insert: literal };
    }
  }
  return null;
}

/** `{ value = 3, provenance = … }` says where a value comes from: the value in it is what changes. */
function valueOf(table: AST.TOMLInlineTable): AST.TOMLContentNode | null {
  return table.body.find((pair) => isSame(names(pair.key), ["value"]))?.value ?? null;
}

/** Into the table that is nearest to the key. */
function inserted(text: string, top: AST.TOMLTopLevelTable, keys: Keys, literal: string): Edit | null {
  const near = homes(top)
    .filter((home) => home.keys.length > 0 && home.keys.length < keys.length && isSame(home.keys, keys.slice(0, home.keys.length)))
    .sort((one, other) => other.keys.length - one.keys.length)[0];
  if (!near) return null;
  const pair = `${keyText(keys.slice(near.keys.length))} = ${literal}`;
  const last = near.pairs.at(-1);
  if (near.node.type === "TOMLInlineTable") {
    if (!last) return { from: near.node.range[0], to: near.node.range[1], insert: `{ ${pair} }` };
    return { from: last.range[1], to: last.range[1], insert: `, ${pair}` };
  }
  // Behind the comment of the last line.
  const line = text.indexOf("\n", last ? last.range[1] : near.node.range[1]);
  return line < 0 ? { from: text.length, to: text.length, insert: `\n${pair}\n` } : { from: line, to: line, insert: `\n${pair}` };
}

/** Under a heading of its own, at the end. */
function appended(text: string, keys: Keys, literal: string): Edit | null {
  const heading = keys.slice(0, -1);
  if (heading.length === 0 || heading.some((key) => typeof key === "number")) return null;
  const gap = text === "" || text.endsWith("\n\n") ? "" : text.endsWith("\n") ? "\n" : "\n\n";
  const insert = `${gap}[${keyText(heading)}]\n${keyText(keys.slice(-1))} = ${literal}\n`;
  return { from: text.length, to: text.length, insert };
}

function names(key: AST.TOMLKey): string[] {
  return key.keys.map((each) => (each.type === "TOMLBare" ? each.name : each.value));
}

function isSame(one: Keys, other: Keys): boolean {
  return one.length === other.length && one.every((key, index) => key === other[index]);
}

function keyText(keys: Keys): string {
  return keys.map((key) => (/^[A-Za-z0-9_-]+$/.test(String(key)) ? String(key) : JSON.stringify(key))).join(".");
}
