/** Where in a scenario file a parameter is written that results and `explain` name by its dotted path. */
import { type Table, at, isTable, tableAt } from "./plain.ts";

/** Keys from the root of the file; a number counts the tables of an array. */
export type Keys = (string | number)[];

/** What has one table only, whose name the path begins with. */
const SINGLE = ["run", "firmware"];

/**
 * The keys of a parameter: `server.memory_latency` is at `host`, `server`, `memory_latency`.
 *
 * @returns null when no component of the file has the name, or when what is on the way is no table: a port of `slot1 = "gen4 x8"`
 */
export function keysOf(path: string, written: Table): Keys | null {
  const [first = "", ...rest] = path.split(".");
  const base = SINGLE.includes(first) ? [first] : first === "workload" ? workload(rest.shift() ?? "", written) : component(first, written);
  if (!base || rest.length === 0) return null;
  const keys = [...base, ...rest];
  for (let length = 1; length < keys.length; length++) {
    const found = at(written, keys.slice(0, length));
    if (found !== undefined && !isTable(found) && !Array.isArray(found)) return null;
  }
  return keys;
}

/** The path of keys of the file, the other way round; null where they name no parameter of a component. */
export function pathOf(keys: Keys, written: Table, paths: readonly string[]): string | null {
  const [section, name, ...rest] = keys;
  if (section === undefined || name === undefined) return null;
  if (SINGLE.includes(String(section))) return keys.join(".");
  if (rest.length === 0) return null;
  if (typeof name === "string") return [name, ...rest].join(".");
  const given = at(written, [section, name, "name"]);
  const tail = rest.join(".");
  if (typeof given === "string") return `workload.${given}.${tail}`;
  return paths.find((path) => new RegExp(`^workload\\.[^.]*\\D${name}\\.`).test(path) && path.endsWith(`.${tail}`)) ?? null;
}

function component(name: string, written: Table): Keys | null {
  const group = name.replace(/\[\d+\]$/, "");
  const section = Object.keys(written).find((key) => Object.hasOwn(tableAt(written, key), group) && !SINGLE.includes(key));
  return section === undefined ? null : [section, group];
}

/** One without a name has its kind and its number among all. */
function workload(name: string, written: Table): Keys | null {
  const all = Array.isArray(written["workload"]) ? (written["workload"] as unknown[]) : [];
  const named = all.findIndex((each) => at(each, ["name"]) === name);
  if (named >= 0) return ["workload", named];
  const index = Number(/\d+$/.exec(name)?.[0] ?? Number.NaN);
  return isTable(all[index]) && at(all[index], ["name"]) === undefined ? ["workload", index] : null;
}
