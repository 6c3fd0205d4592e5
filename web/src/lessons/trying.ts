/** The edit that a lesson tries. */
import { type Edit, literalOf, readToml, setKey } from "../toml/edit.ts";
import { keysOf } from "../toml/place.ts";
import { at } from "../toml/plain.ts";
import type { Try } from "./lessons.ts";

/**
 * The edit of a rig's text.
 *
 * @throws when the text does not have the parameter: the lesson and its rig do not fit
 */
export function editOf(text: string, { path, value }: Try): Edit {
  const written = readToml(text) ?? {};
  const keys = keysOf(path, written);
  const now = keys ? at(written, keys) : undefined;
  const made = keys && now !== undefined ? setKey(text, keys, literalOf(value, typeof now === "number")) : null;
  if (!made) throw new Error(`the lesson's rig has no ${path}`);
  return made;
}
