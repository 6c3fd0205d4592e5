/** Whole tables of a text of TOML: added, copied and taken out; comments above a heading belong to it. */
import { type AST, parseTOML } from "toml-eslint-parser";
import { applied } from "./edit.ts";
import type { Keys } from "./place.ts";

type Tables = AST.TOMLTable[];

/** The text without a table, the tables within it, and the comments right above them. */
export function withoutSection(text: string, keys: Keys): string {
  const ranges = tablesOf(text, keys).map((table) => rangeOf(text, table));
  const pairs = ranges.length > 0 ? [] : pairsOf(text, keys).map((pair) => lineRange(text, pair.range));
  return [...ranges, ...pairs].sort((one, other) => other[0] - one[0]).reduce((left, [from, to]) => applied(left, { from, to, insert: "" }), text);
}

/** A table with those within it, as it is written, without the comments above; empty where there is none. */
export function sectionText(text: string, keys: Keys): string {
  return tablesOf(text, keys)
    .map((table) => text.slice(table.range[0], lineEnd(text, table.range[1])))
    .join("\n\n");
}

/** The text with a block behind the last table of a kind: of `like`, or of the first of `others` that has any. */
export function withSection(text: string, block: string, like: string, others: readonly string[] = []): string {
  const all = tables(text);
  const last = [like, ...others].map((kind) => all.findLast((table) => table.resolvedKey[0] === kind)).find(Boolean);
  const body = `${block.trimEnd()}\n`;
  if (!last) return `${text === "" || text.endsWith("\n\n") ? text : `${text.trimEnd()}\n\n`}${body}`;
  const at = lineEnd(text, last.range[1]);
  return applied(text, { from: at, to: at, insert: `\n\n${body.trimEnd()}` });
}

/** The text without a key of a table. */
export function withoutKey(text: string, keys: Keys): string {
  const [pair] = pairsOf(text, keys);
  if (!pair) return text;
  const [from, to] = lineRange(text, pair.range);
  return applied(text, { from, to, insert: "" });
}

/** A table's text under another name. */
export function renamed(section: string, from: Keys, to: Keys): string {
  const dotted = from.map(String).join("\\.");
  return section.replaceAll(new RegExp(`^(\\s*\\[)${dotted}(?=[.\\]])`, "gm"), `$1${to.join(".")}`);
}

function tables(text: string): Tables {
  return parseTOML(text).body[0].body.filter((each) => each.type === "TOMLTable");
}

function tablesOf(text: string, keys: Keys): Tables {
  return tables(text).filter((table) => keys.every((key, index) => table.resolvedKey[index] === key));
}

/** Pairs of a path, written as a key of a table that is shorter. */
function pairsOf(text: string, keys: Keys): AST.TOMLKeyValue[] {
  const top = parseTOML(text).body[0];
  const homes = [{ keys: [] as Keys, pairs: top.body.filter((each) => each.type === "TOMLKeyValue") }];
  for (const table of top.body) if (table.type === "TOMLTable") homes.push({ keys: table.resolvedKey, pairs: table.body });
  return homes.flatMap((home) =>
    home.pairs.filter((pair) => {
      const path = [...home.keys, ...pair.key.keys.map((each) => (each.type === "TOMLBare" ? each.name : each.value))];
      return keys.length <= path.length && keys.every((key, index) => path[index] === key);
    }),
  );
}

/** From the comments above a heading to the blank line below its last key. */
function rangeOf(text: string, table: AST.TOMLTable): [number, number] {
  let from = lineStart(text, table.range[0]);
  for (;;) {
    const above = text.slice(lineStart(text, Math.max(from - 1, 0)), Math.max(from - 1, 0));
    // What the file begins with is about the whole of it.
    if (from === 0 || !above.trimStart().startsWith("#") || lineStart(text, from - 1) === 0) break;
    from = lineStart(text, from - 1);
  }
  const last = table.body.at(-1);
  let to = Math.min(lineEnd(text, last ? last.range[1] : table.range[1]) + 1, text.length);
  while (text[to] === "\n") to++;
  // Nothing follows: then the blank line above goes instead.
  if (to >= text.length) {
    while (from > 1 && text.slice(0, from).endsWith("\n\n")) from--;
  }
  return [from, to];
}

function lineRange(text: string, range: [number, number]): [number, number] {
  return [lineStart(text, range[0]), Math.min(lineEnd(text, range[1]) + 1, text.length)];
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf("\n", at - 1) + 1;
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end;
}
