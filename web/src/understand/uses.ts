/** Where time went, of directions of links and of requesters: which are alike, in which order, in which words. */
import type { Results, Shares } from "lanewise";
import { memoryUse } from "../rig/memory-wire.ts";
import { SENT, STATES } from "./known-uses.ts";
import type { Way } from "./ladder.ts";

/** Something whose time is shared out, with those alike. */
export interface Spent {
  names: string[];
  /** Direction of links; none for requesters. */
  way: Way | null;
  shares: Shares;
}

/** Shares of the time that read the same. */
const SAME = 0.01;
const LAST = ["asleep", "waking", "down", "idle", "nothing_asked"];

/** Directions of links, those in use most first. */
export function ofLinks(results: Results): Spent[] {
  const { links } = results;
  const ways = (["upstream", "downstream"] as const).flatMap((way) => links.map((link) => ({ link, way, direction: link[way] })));
  ways.sort((one, other) => other.direction.utilisation - one.direction.utilisation);
  return together(ways.map(({ link, way, direction }) => ({ names: [memoryUse(results, link.name, way) ? `${link.name} beside CXL.mem` : link.name], way, shares: direction.time_attribution })));
}

/** What held the requesters back. */
export function ofRequesters({ requesters }: Results): Spent[] {
  return together(requesters.map(({ device, time_attribution }) => ({ names: [device], way: null, shares: time_attribution })));
}

/** Those of names that differ in numbers only, and that spent their time alike. */
function together(all: Spent[]): Spent[] {
  const found: Spent[] = [];
  for (const one of all) {
    const alike = found.find((other) => other.way === one.way && stem(other.names[0]) === stem(one.names[0]) && isAlike(other.shares, one.shares));
    if (alike) alike.names.push(...one.names);
    else found.push(one);
  }
  return found;
}

function isAlike(one: Shares, other: Shares): boolean {
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].every((use) => Math.abs((one[use] ?? 0) - (other[use] ?? 0)) <= SAME);
}

function stem(name = ""): string {
  return name.replaceAll(/\d+/g, "#");
}

/** `nvme[0]`, or `nvme[0] and 7 alike`. */
export function called(names: readonly string[]): string {
  const [first = ""] = [...names].sort((one, other) => one.localeCompare(other, "en", { numeric: true }));
  return names.length > 1 ? `${first} and ${names.length - 1} alike` : first;
}

/** Devices of a flow, `ssd[0]+ssd[1]` where it is of several. */
export function devices(names: string): string {
  return called(names.split("+"));
}

/** Uses that take a part of the time at all: what is sent first, silence last. */
export function inOrder(shares: Shares): [use: string, share: number][] {
  const rank = (use: string): number => {
    const [first, last] = [SENT.indexOf(use), LAST.indexOf(use)];
    return first >= 0 ? first : last >= 0 ? SENT.length + 1 + last : SENT.length;
  };
  return Object.entries(shares)
    .filter(([, share]) => share > 0)
    .sort((one, other) => rank(one[0]) - rank(other[0]));
}

/** What a use is drawn as: kinds that a reader tells apart. */
export function kindOf(use: string): string {
  if (SENT.includes(use)) return use.replace("_", "-");
  if (use === "idle" || use === "nothing_asked" || use === "asleep") return "idle";
  return use === "port" ? "payload" : "blocked";
}

/** What held a requester back, in words. */
export function state(word: string): string {
  return STATES[word] ?? word.replaceAll("_", " ");
}

/** `blocked_non_posted_data` as a person writes it. */
export function spelled(use: string): string {
  return use.replace("non_posted", "non-posted").replaceAll("_", " ");
}
