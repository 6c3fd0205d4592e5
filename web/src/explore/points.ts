/** What became of points, and what can be read off them together. */
import { type Axis, type GridPoint, type Overrides, keyOf, pointsOf } from "./grid.ts";
import type { Digest } from "./metrics.ts";

/** What became of a point. */
export type Found =
  | { state: "under way" }
  | { state: "done"; digest: Digest }
  /** It cannot be built, or the simulator failed on it: then it `isWorthAnother` try. */
  | { state: "failed"; words: string; isWorthAnother: boolean };

export type FoundPoints = ReadonlyMap<string, Found>;

export interface PointRow {
  point: GridPoint;
  found: Found | null;
}

/** Every point of the axes, with what became of it. */
export function rowsOf(axes: readonly Axis[], found: FoundPoints): PointRow[] {
  return pointsOf(axes).map((point) => ({ point, found: foundAt(found, point.overrides) }));
}

export function foundAt(found: FoundPoints, overrides: Overrides): Found | null {
  return found.get(keyOf(overrides)) ?? null;
}

/** What limits points, in the order in which it is met along them, with a letter each. */
export interface Limiter {
  name: string;
  letter: string;
  count: number;
}

export const NOTHING = "nothing that was found";

export function limiterOf(digest: Digest): string {
  return digest.limit?.name ?? NOTHING;
}

/** It ended before its results were narrow enough, or got stuck. */
export function isEarly({ endReason }: Digest): boolean {
  return !["Converged", "Finished"].includes(endReason);
}

/** What limits a point, and what its numbers are worth, in sentences. */
export function saidOf(digest: Digest): string {
  const limit = `${digest.limit?.sentence ?? "Nothing was found to limit it"}.`;
  return isEarly(digest) ? `${limit} The run ended as ${digest.endReason}, so its numbers may not be those of a steady state.` : limit;
}

export function limitersOf(rows: readonly PointRow[]): Limiter[] {
  const counts = new Map<string, number>();
  for (const { found } of rows) {
    if (found?.state === "done") counts.set(limiterOf(found.digest), (counts.get(limiterOf(found.digest)) ?? 0) + 1);
  }
  return [...counts].map(([name, count], index) => ({ name, count, letter: letterOf(index) }));
}

function letterOf(index: number): string {
  const last = String.fromCharCode(65 + (index % 26));
  return index < 26 ? last : letterOf(Math.floor(index / 26) - 1) + last;
}

/** Between which neighbours on a line the limiter is another. */
export interface Knee {
  /** The one before it. */
  after: number;
  from: string;
  to: string;
}

/** Where the limiter changes along a line. What has no results is passed over. */
export function kneesOf(rows: readonly PointRow[]): Knee[] {
  const known = rows.flatMap(({ found }, index) => (found?.state === "done" ? [{ index, name: limiterOf(found.digest) }] : []));
  return known.slice(1).flatMap(({ name }, before) => {
    const last = known[before];
    return last && last.name !== name ? [{ after: last.index, from: last.name, to: name }] : [];
  });
}

/** How long the rest takes, s, when so many took so long; null while nothing can be said. */
export function timeLeft(done: number, all: number, seconds: number): number | null {
  return done === 0 ? null : (seconds / done) * (all - done);
}
