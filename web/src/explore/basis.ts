/** Parameters in the text of a scenario: an exploration sets them beside it, and a point that is taken over is written into it. */
import { type Edit, applied, literalOf, readToml, setKey } from "../toml/edit.ts";
import { type Keys, keysOf } from "../toml/place.ts";
import { type Table, at } from "../toml/plain.ts";
import type { Axis, Overrides } from "./grid.ts";

/** How the value of a parameter is written: whether it stands without quotes. */
export type IsBare = (keys: Keys, now: unknown) => boolean;

/** The text with values of parameters; null where one cannot be written into it. */
export function textWith(text: string, overrides: Overrides, isBare: IsBare): string | null {
  return overrides.reduce<string | null>((before, override) => {
    const edit = before === null ? null : editOf(before, override, isBare);
    return before === null || !edit ? null : applied(before, edit);
  }, text);
}

function editOf(text: string, [path, value]: [string, string], isBare: IsBare): Edit | null {
  const written = readToml(text);
  const place = written && placeOf(path, written);
  if (!place) return null;
  const { keys, rest } = place;
  const literal = literalOf(value, isBare([...keys, ...rest], at(written, [...keys, ...rest])));
  if (rest.length === 0 || rest.join() === "link") return setKey(text, keys, literal);
  // A port that says its speed alone becomes a table.
  return setKey(text, keys, `{ link = ${literalOf(String(at(written, keys)), false)}, ${rest.join(".")} = ${literal} }`);
}

/** The text as it is but for the parameters: points of texts that have it in common are the same. */
export function basisOf(text: string, axes: readonly Axis[]): string {
  const overrides = axes.map(({ path }): [string, string] => [path, "any"]);
  return textWith(text, overrides, () => false) ?? text;
}

/** Where a parameter is in a text; below a port that is `slot1 = "gen4 x8"` there is a rest that has no place yet. */
export function placeOf(path: string, written: Table): { keys: Keys; rest: string[] } | null {
  const words = path.split(".");
  for (let length = words.length; length > 1; length--) {
    const keys = keysOf(words.slice(0, length).join("."), written);
    if (keys && length === words.length) return { keys, rest: [] };
    if (keys && typeof at(written, keys) === "string") return { keys, rest: words.slice(length) };
  }
  return null;
}
