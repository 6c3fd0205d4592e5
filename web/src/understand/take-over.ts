/** Settings, as the core suggests them, written into the text of a scenario: what is tried is what one gets. */
import { applied, literalOf, readToml, setKey } from "../toml/edit.ts";
import { type Keys, keysOf } from "../toml/place.ts";
import { type Table, at, isTable } from "../toml/plain.ts";

/** A parameter by its path, and what it becomes. */
export interface Setting {
  path: string;
  after: string;
  /** It stands without quotes. Where nothing is said, numbers do. */
  isBare?: boolean;
}

/** A setting of one port: owner, `slots` or `ports`, name of the port, key behind that. */
const OF_PORT = /^([^.]+)\.(slots|ports)\.([^.]+)\.(.+)$/;

/** The text with all settings; null when one of them has no place in it. */
export function withSettings(text: string, settings: readonly Setting[]): string | null {
  let changed = text;
  for (const setting of acrossRanges(settings, readToml(text) ?? {})) {
    const next = withSetting(changed, setting);
    if (next === null) return null;
    changed = next;
  }
  return changed;
}

function withSetting(text: string, { path, after, isBare = /^[\d.]+(e[+-]?\d+)?$/.test(after) }: Setting): string | null {
  const data = readToml(text) ?? {};
  const place = ofPort(path, data) ?? direct(path, data);
  if (!place) return null;
  const literal = literalOf(after, isBare);
  const edit = setKey(text, place.keys, place.around ? place.around(literal) : literal);
  return edit && applied(text, edit);
}

interface Written {
  keys: Keys;
  /** The literal that is written, where it is more than the value. */
  around?: (literal: string) => string;
}

function direct(path: string, data: Table): Written | null {
  const keys = keysOf(path, data);
  return keys && { keys };
}

/** A port is written as what it can do, `"gen4 x8"`, or as a table that has that under `link`. */
function ofPort(path: string, data: Table): Written | null {
  const [, owner = "", table = "", name = "", key = ""] = OF_PORT.exec(path) ?? [];
  const home = owner && keysOf(`${owner}.${table}`, data);
  if (!home) return null;
  const port = [...home, name.replace(RANGE, "..")];
  const now = at(data, port);
  if (isTable(now)) return { keys: [...port, ...key.split(".")] };
  if (key === "link") return { keys: port };
  if (typeof now === "string") return { keys: port, around: (literal) => `{ link = ${JSON.stringify(now)}, ${key} = ${literal} }` };
  return { keys: [...port, ...key.split(".")] };
}

/** Links of all ports of a range, `"slot1..slot4" = "gen4 x16"`, that become the same are one setting: of the range. */
function acrossRanges(settings: readonly Setting[], data: Table): Setting[] {
  const left = [...settings];
  const found: Setting[] = [];
  for (const { path } of settings) {
    const [, owner = "", table = "", , key] = OF_PORT.exec(path) ?? [];
    if (key !== "link") continue;
    const home = keysOf(`${owner}.${table}`, data);
    const written = home && at(data, home);
    for (const range of isTable(written) ? Object.keys(written) : []) {
      const names = namesOf(range);
      if (names.length === 0 || typeof (written as Table)[range] !== "string") continue;
      const members = names.map((name) => left.find((each) => each.path === `${owner}.${table}.${name}.link`));
      const after = members[0]?.after;
      if (after === undefined || members.some((each) => each?.after !== after)) continue;
      left.splice(0, left.length, ...left.filter((each) => !members.includes(each)));
      // A range has dots, which no path can say: it is put where its first port would be.
      found.push({ path: `${owner}.${table}.${range.replace("..", RANGE)}.link`, after });
    }
  }
  return [...found, ...left];
}

/** Stands for the two points of a range in a path. */
const RANGE = "\u2025";

/** Ports of `slot1..slot4`; none of what is no range. */
function namesOf(range: string): string[] {
  const [, stem = "", first, other, last] = /^(\D*)(\d+)\.\.(\D*)(\d+)$/.exec(range) ?? [];
  if (first === undefined || stem !== other) return [];
  const count = Number(last) - Number(first) + 1;
  return count > 0 && count <= 1024 ? Array.from({ length: count }, (_, index) => `${stem}${Number(first) + index}`) : [];
}
