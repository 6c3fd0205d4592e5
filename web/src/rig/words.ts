/** Numbers and causes in words. Units are those of the command line: GB/s is 10⁹ bytes a second. */

import type { Flow } from "lanewise";

/** A rate in GB/s with three digits that count; a dash for none. */
export function rate(gigabytes: number | null | undefined): string {
  if (gigabytes === null || gigabytes === undefined || !Number.isFinite(gigabytes)) return "–";
  // Less than half a byte a second is what floats leave of nothing.
  if (Math.abs(gigabytes) < 0.5e-9) return "0";
  const told = shortened(gigabytes);
  if (told < 0.001) return `${significant(gigabytes * 1e6)} kB/s`;
  if (told < 1) return `${significant(gigabytes * 1e3)} MB/s`;
  return `${significant(gigabytes)} GB/s`;
}

/** A part of one as percent. */
export function percent(part: number): string {
  if (part > 0 && part < 0.001) return "<0.1 %";
  return part > 0.9995 || part === 0 ? `${Math.round(part * 100)} %` : `${(part * 100).toFixed(1)} %`;
}

/** A span in the unit that suits it. */
export function span(seconds: number): string {
  const units: [number, string][] = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];
  const [size, unit] = units.find(([size]) => shortened(seconds) >= size) ?? [1e-9, "ns"];
  return `${significant(seconds / size)} ${unit}`;
}

/** Nanoseconds; a dash for none. */
export function nanoseconds(value: number | null): string {
  return value === null ? "–" : span(value * 1e-9);
}

/** What a flow counts, in a second: its requests or its operations; a dash where none was over, as of what has no count of its own. */
export function counted({ operations, operations_per_s, counted }: Pick<Flow, "operations" | "operations_per_s" | "counted">): string {
  return operations > 0 ? `${whole(operations_per_s)} ${counted}` : "–";
}

/** A whole number with a comma for each thousand. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString("en");
}

/** With three digits that count: a number just below a power of ten is that power, and in its unit. */
function shortened(value: number): number {
  return Number(value.toPrecision(3));
}

function significant(value: number): string {
  const digits = value === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(shortened(value)))));
  return value.toFixed(Math.min(digits, 3));
}

/** A name that has room for so many letters: of a longer one the beginning and the end, which tells members of a group apart. */
export function fitted(name: string, letters: number): string {
  if (name.length <= letters) return name;
  const end = Math.min(6, Math.floor(letters / 3));
  return `${name.slice(0, Math.max(1, letters - end - 1))}…${name.slice(name.length - end)}`;
}

const CREDITS = /^blocked_(posted|non_posted|completion)_(header|data)$/;

/** Why a wire is silent, for the word that the time attribution has for it. */
export function cause(word: string): string {
  const credits = CREDITS.exec(word);
  if (credits) {
    const kind = { posted: "posted", non_posted: "non-posted", completion: "completion" }[credits[1] ?? ""];
    return `waits for ${kind} ${credits[2]} credits of the receiver`;
  }
  return CAUSES[word] ?? word.replaceAll("_", " ");
}

const CAUSES: Record<string, string> = {
  idle: "has nothing to send",
  blocked_retry_buffer: "waits for room in the retry buffer",
  blocked_core: "waits for the core of the switch",
  tlp_gap: "keeps the minimum distance between packets",
  down: "is down",
  asleep: "is asleep",
  waking: "wakes up",
};

/** Whether a silent wire is silent because something holds its packets up. */
export function isHeldUp(word: string | null): word is string {
  return word !== null && word.startsWith("blocked");
}
