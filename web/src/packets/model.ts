/** What is drawn of a trace, and in which order it is listed. Pure: no page, no simulator. */
import type { TraceRow, TracedRequest, WireDirection } from "lanewise";
import { waited } from "./words.ts";

/** Devices that packets go through one after the other: from a host down to a leaf, or from one leaf to another. */
export interface Path {
  /** The leaf, or both of them. */
  name: string;
  stations: string[];
  /** Link between a station and the next: that of the device below. */
  links: string[];
}

/** Every way from a host to a device with nothing below it. */
export function pathsOf(directions: WireDirection[]): Path[] {
  const above = new Map<string, string>();
  for (const each of directions) if (each.direction === "upstream") above.set(each.link, each.receiver);
  const parents = new Set(above.values());
  const leaves = [...above.keys()].filter((name) => !parents.has(name));
  return leaves.map((leaf) => pathTo(leaf, above));
}

function pathTo(leaf: string, above: Map<string, string>): Path {
  const stations = [leaf];
  for (let parent = above.get(leaf); parent !== undefined; parent = above.get(parent)) stations.unshift(parent);
  return { name: leaf, stations, links: stations.slice(1) };
}

/** The way that a row is best seen on: its link is on it, and its requester if that can be. */
export function pathWith(paths: Path[], { link, requester }: Pick<TraceRow, "link" | "requester">): Path | undefined {
  const all = paths.filter((path) => path.links.includes(link));
  return all.find((path) => path.stations.slice(1).includes(requester ?? "")) ?? all[0];
}

/** The way of a request from one leaf to another that does not go by the host; null of any other, which is on the way to a host. */
export function peersOf(paths: Path[], own: TraceRow[]): Path | null {
  const links = new Set(own.map((row) => row.link));
  if (paths.some((path) => [...links].every((link) => path.links.includes(link)))) return null;
  const on = [...links].map((link) => pathWith(paths, { link, requester: null }));
  const [first, second] = [on[0], on.find((path) => path !== on[0] && path?.stations[0] === on[0]?.stations[0])];
  if (!first || !second) return null;
  // Above the last device that they share neither is needed, if nothing of the request is there.
  let shared = 0;
  while (first.stations[shared + 1] === second.stations[shared + 1]) shared++;
  if (first.links.slice(0, shared).some((link) => links.has(link))) return null;
  const [up, down] = [first.stations.slice(shared).reverse(), second.stations.slice(shared + 1)];
  return {
    name: `${first.name} ${second.name}`,
    stations: [...up, ...down],
    links: [...first.links.slice(shared).reverse(), ...second.links.slice(shared)],
  };
}

/** The way on whose links there is most: where a trace begins to be looked at. */
export function busiest(paths: Path[], rows: TraceRow[]): Path | undefined {
  const counts = new Map<string, number>();
  for (const row of rows) counts.set(row.link, (counts.get(row.link) ?? 0) + 1);
  const weight = (path: Path): number => path.links.reduce((sum, link) => sum + (counts.get(link) ?? 0), 0);
  return paths.toSorted((a, b) => weight(b) - weight(a))[0];
}

/** A row on a wire of the way that is drawn, in ticks and in stations. */
export interface Stroke {
  /** Place among the rows. */
  index: number;
  row: TraceRow;
  /** Stations that it goes from and to, counted from the first. */
  from: number;
  to: number;
  /** First byte at the transmitter, last byte there, and the same at the receiver. */
  leaves: number;
  left: number;
  arrives: number;
  arrived: number;
}

/** What is on the wires of a way, in order of time; and the longest, so that drawing a part of it can begin at the right one. */
export interface Strokes {
  all: Stroke[];
  longest: number;
}

/** Rows on the links of a way as strokes. */
export function strokesOf(rows: TraceRow[], path: Path, directions: WireDirection[]): Strokes {
  const wires = new Map(directions.map((each) => [`${each.link} ${each.direction}`, each]));
  const all: Stroke[] = [];
  let longest = 0;
  rows.forEach((row, index) => {
    const wire = wires.get(`${row.link} ${row.direction}`);
    if (!wire || !path.links.includes(row.link)) return;
    const [from, to] = [path.stations.indexOf(wire.transmitter), path.stations.indexOf(wire.receiver)];
    // What was held up goes on now: it is drawn over the time before.
    const leaves = isHeld(row) ? row.at_ticks - waited(row) : row.at_ticks;
    const left = isHeld(row) ? row.at_ticks : leaves + ownSpan(row);
    const travels = row.span_ticks > 0 || ["tlp", "dllp", "flit"].includes(row.kind);
    const later = travels ? wire.propagation_ticks : 0;
    all.push({ index, row, from, to, leaves, left, arrives: leaves + later, arrived: left + later });
    longest = Math.max(longest, left + later - leaves);
  });
  all.sort((a, b) => a.leaves - b.leaves);
  return { all, longest };
}

/** Whether a row says for how long a port or a requester was held up. */
export function isHeld(row: TraceRow): boolean {
  return row.kind === "blocked" && row.waits.length > 0;
}

/** Whether that was within the host, and not at the port that transmits. */
export function isWithinHost(row: TraceRow): boolean {
  return row.waits.some((wait) => wait.cause === "tracking_entries" || wait.cause === "shared_queue");
}

/** How long a thing takes the wire: of several ordered sets in a silence, which one row stands for, the first. */
function ownSpan(row: TraceRow): number {
  const several = row.kind === "skp" ? /^(\d+) of them/.exec(row.note) : null;
  return several ? row.span_ticks / Number(several[1]) : row.span_ticks;
}

/** The first stroke that may be seen from a time on: those before it have arrived. */
export function firstSeen({ all, longest }: Strokes, from: number): number {
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((all[middle]?.leaves ?? 0) + longest < from) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The order of the list. */
export type Order = "time" | "waited" | "late";

/** Places of rows in that order. By wait and by lateness only TLPs that a request sent are listed, and the most comes first. */
export function ordered(rows: TraceRow[], order: Order): number[] {
  const all = rows.map((_, index) => index);
  if (order === "time") return all;
  const of = (index: number): number => {
    const row = rows[index];
    if (row?.kind !== "tlp") return -1;
    return order === "waited" ? waited(row) : lateness(row);
  };
  const keys = new Map(all.map((index) => [index, of(index)]));
  const key = (index: number): number => keys.get(index) ?? -1;
  return all.filter((index) => key(index) > 0).sort((a, b) => key(b) - key(a) || a - b);
}

/** From the issue of its request until the last byte of a TLP has left, ticks; −1 of what is no TLP. */
export function lateness(row: TraceRow): number {
  return row.issued_at_ticks === null ? -1 : row.at_ticks + row.span_ticks - row.issued_at_ticks;
}

/** What tells the request of a row; null of what is no TLP of one. */
export function requestOf(row: TraceRow): TracedRequest | null {
  const { requester, issued_at_ticks, tag, address, length_bytes } = row;
  if (row.kind !== "tlp" || requester === null || issued_at_ticks === null || address === null || length_bytes === null) return null;
  return { requester, issued_at_ticks, tag, address, length_bytes };
}

/** Whether a row is a TLP of a request: on any link, and its completions. */
export function isOf(row: TraceRow, request: TracedRequest): boolean {
  const other = requestOf(row);
  if (!other || other.requester !== request.requester || other.issued_at_ticks !== request.issued_at_ticks) return false;
  return request.tag === null ? other.tag === null && other.address === request.address : other.tag === request.tag;
}

/** Until when the port of a row is held up: place among the rows of the one that says so. */
export function endOf(rows: TraceRow[], index: number): number | null {
  const row = rows[index];
  if (row?.kind !== "blocked" || row.waits.length > 0) return null;
  const found = rows.findIndex((each, at) => {
    const isSame = each.link === row.link && each.direction === row.direction && each.channel === row.channel;
    return at > index && isSame && isHeld(each) && each.at_ticks - waited(each) === row.at_ticks;
  });
  return found < 0 ? null : found;
}

/** What went over the same wire while a TLP waited for it: places among the rows, which are in order of time. */
export function meanwhile(rows: TraceRow[], row: TraceRow): number[] {
  const since = row.ready_at_ticks;
  if (since === null) return [];
  const found: number[] = [];
  rows.forEach((each, index) => {
    const isThere = each.link === row.link && each.direction === row.direction && each.span_ticks > 0;
    if (isThere && each.at_ticks < row.at_ticks && each.at_ticks + each.span_ticks > since) found.push(index);
  });
  return found;
}
