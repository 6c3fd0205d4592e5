/** Plain data, as a text of TOML or a JSON Schema is read into it. */

export type Table = Record<string, unknown>;

export function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** What a path of keys leads to; undefined where it leads nowhere. */
export function at(value: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((found, key) => {
    if (Array.isArray(found) && typeof key === "number") return found[key] as unknown;
    return isTable(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }, value);
}

/** The table at a key; an empty one where there is none. */
export function tableAt(value: unknown, key: string): Table {
  const found = at(value, [key]);
  return isTable(found) ? found : {};
}

/** The text at a key; an empty one where there is none. */
export function textAt(value: unknown, key: string): string {
  const found = at(value, [key]);
  return typeof found === "string" ? found : "";
}
