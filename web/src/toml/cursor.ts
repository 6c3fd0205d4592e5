/**
 * Where a cursor is in a text that may be half written: in which table, at which key, in its name or in its value.
 *
 * It looks at headings and at the line of the cursor, with its braces and quotes. A value over several lines is not followed.
 */
import type { Keys } from "./place.ts";

export interface Cursor {
  /** The table around it. */
  table: Keys;
  /** What part of a line it is in. */
  part: "heading" | "key" | "value" | "comment";
  /** The key whose value or name it is in, as far as it is written. */
  key: string[];
  /** Where the word under it begins. */
  from: number;
  /** That word up to the cursor, without an opening quote. */
  word: string;
  /** The value has an opening quote. */
  isQuoted: boolean;
  /** `kind` of the workload that it is in, if it is in one. */
  kind: string | null;
}

/** Looks around a place in a text. */
export function cursorAt(text: string, place: number): Cursor {
  const lineStart = text.lastIndexOf("\n", place - 1) + 1;
  const line = text.slice(lineStart, place);
  const { table, kind } = tableAbove(text, lineStart);
  const heading = /^\s*\[\[?\s*([\w.\-"]*)$/.exec(line);
  if (heading) {
    const word = heading[1] ?? "";
    return { table: [], part: "heading", key: [], from: place - word.length, word, isQuoted: false, kind: null };
  }
  return { ...inLine(line, lineStart, table), kind };
}

/** Table and kind of workload of the lines above. */
function tableAbove(text: string, lineStart: number): { table: Keys; kind: string | null } {
  const above = text.slice(0, lineStart).split("\n");
  let heading = above.length - 1;
  while (heading >= 0 && !/^\s*\[/.test(above[heading] ?? "")) heading--;
  const found = /^\s*(\[\[?)\s*([^\]]*)\]/.exec(above[heading] ?? "");
  if (!found) return { table: [], kind: null };
  const keys: Keys = split(found[2] ?? "");
  if (found[1] === "[[") {
    const same = above.slice(0, heading + 1).filter((line) => line.replaceAll(/\s/g, "").startsWith(`[[${keys.join(".")}]]`));
    keys.push(same.length - 1);
  }
  return { table: keys, kind: kindBelow(text, heading) };
}

function kindBelow(text: string, heading: number): string | null {
  for (const line of text.split("\n").slice(heading + 1)) {
    if (/^\s*\[/.test(line)) return null;
    const kind = /^\s*kind\s*=\s*["']([^"']*)["']/.exec(line);
    if (kind) return kind[1] ?? null;
  }
  return null;
}

/** Goes through a line up to the cursor, and keeps where it is. */
function inLine(line: string, lineStart: number, table: Keys): Omit<Cursor, "kind"> {
  let braces: string[][] = [];
  let key: string[] = [];
  let isValue = false;
  let from = 0;
  let keyFrom = 0;
  let quote: string | null = null;
  for (let index = 0; index < line.length; index++) {
    const letter = line[index] as string;
    if (quote) {
      if (letter === "\\" && quote === '"') index++;
      else if (letter === quote) quote = null;
    } else if (letter === '"' || letter === "'") {
      quote = letter;
      from = index + 1;
    } else if (letter === "#") {
      return { table, part: "comment", key: [], from: lineStart + line.length, word: "", isQuoted: false };
    } else if (letter === "=" && !isValue) {
      key = split(line.slice(keyFrom, index));
      isValue = true;
      from = index + 1;
    } else if (letter === "{") {
      braces.push(key);
      [key, isValue, from, keyFrom] = [[], false, index + 1, index + 1];
    } else if (letter === "}") {
      braces = braces.slice(0, -1);
      isValue = true;
    } else if (letter === ",") {
      // In an array the value goes on; in braces a key begins.
      isValue = braces.length === 0;
      [from, keyFrom] = [index + 1, index + 1];
    } else if (letter === "[" || /\s/.test(letter)) {
      from = index + 1;
    }
  }
  const around = [...table, ...braces.flat()];
  const word = line.slice(from);
  if (isValue) return { table: around, part: "value", key, from: lineStart + from, word, isQuoted: quote !== null };
  const dot = word.lastIndexOf(".");
  const before = dot < 0 ? [] : split(word.slice(0, dot));
  return { table: [...around, ...before], part: "key", key: [], from: lineStart + from + dot + 1, word: word.slice(dot + 1), isQuoted: false };
}

function split(dotted: string): string[] {
  return dotted
    .split(".")
    .map((key) => key.trim().replaceAll(/^["']|["']$/g, ""))
    .filter((key) => key !== "");
}
