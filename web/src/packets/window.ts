/** What is traced: where the window is, how long, of which links and kinds. Links, files and reloads keep it. */
import { isTable } from "../toml/plain.ts";

const PLACES = ["start", "worst-latency", "first-blocked", "replay", "stall"] as const;
const KINDS = ["tlp", "dllp", "skp", "flit", "blocked", "error"] as const;

/** Where the window is. */
export type Place = (typeof PLACES)[number];

export interface Window {
  place: Place;
  start: string;
  length: string;
  /** Name of a link; all when empty. */
  link: string;
  kinds: string[];
}

/** What is traced before anything else is chosen. */
export const USUAL: Window = { place: "start", start: "0 us", length: "5 us", link: "", kinds: [...KINDS] };

/** Longer ones are no times and no names. */
const LONGEST = 300;

/** Reads a window that a link or a file holds. What is none of a window's is as usual. */
export function readWindow(saved: unknown): Window {
  const given = isTable(saved) ? saved : {};
  const word = (key: "start" | "length" | "link"): string => {
    const value = Object.hasOwn(given, key) ? given[key] : undefined;
    return typeof value === "string" && value.length <= LONGEST ? value : USUAL[key];
  };
  const kinds = Array.isArray(given["kinds"]) ? (given["kinds"] as unknown[]) : null;
  const known = kinds && KINDS.filter((kind) => kinds.includes(kind));
  return {
    place: PLACES.find((place) => place === given["place"]) ?? USUAL.place,
    start: word("start"),
    length: word("length"),
    link: word("link"),
    kinds: known && known.length === kinds.length ? known : [...USUAL.kinds],
  };
}

/** Whether two are the same; the order of kinds is of no matter. */
export function isSame(one: Window, other: Window): boolean {
  const words = ({ place, start, length, link, kinds }: Window): string => JSON.stringify([place, start, length, link, kinds.toSorted()]);
  return words(one) === words(other);
}

/** A part of a rig, with what is below it. */
interface Named {
  name: string;
  link: unknown;
  below: Named[];
}

/** Names of the links of a rig: those of the devices below them. */
export function linksOf(devices: readonly Named[]): string[] {
  return devices.flatMap((device) => [...(device.link ? [device.name] : []), ...linksOf(device.below)]);
}
