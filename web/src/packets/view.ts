/** Which part of the time is drawn, and how large. */
import { signal } from "@preact/signals";
import { rows } from "./state.ts";

export interface View {
  /** Time at the upper edge, ticks. */
  top: number;
  /** Ticks in a pixel. */
  perPixel: number;
}

/** Height of what is drawn, pixels: the diagram's own, without the names above it. */
export const HEIGHT = 430;
/** A tick in 50 pixels: more says nothing. */
const LEAST = 0.02;

export const view = signal<View>({ top: 0, perPixel: 1000 });

/** From the first to the last that there is. */
export function bounds(): [number, number] {
  const all = rows.value;
  const first = all[0];
  if (!first) return [0, 1];
  // Rows are in order of their beginning, and few take long.
  const last = all.slice(-200).reduce((until, row) => Math.max(until, row.at_ticks + row.span_ticks), first.at_ticks);
  return [first.at_ticks, Math.max(last, first.at_ticks + 1)];
}

/** Shows the time from one to another, with a little room around it. */
export function fit(from: number, until: number): void {
  const span = Math.max(until - from, 40);
  view.value = { top: from - span * 0.04, perPixel: (span * 1.08) / HEIGHT };
}

/** Moves by so many pixels, as far as there is anything. False where that is no way at all: at an end. */
export function pan(pixels: number): boolean {
  const { top, perPixel } = view.value;
  const [from, until] = bounds();
  const room = (HEIGHT * perPixel) / 2;
  const to = Math.min(Math.max(top + pixels * perPixel, from - room), until - room);
  if (to === top) return false;
  view.value = { top: to, perPixel };
  return true;
}

/** Larger or smaller, while what is at a height stays there. */
export function zoom(times: number, at = HEIGHT / 2): void {
  const { top, perPixel } = view.value;
  const [from, until] = bounds();
  const most = ((until - from) * 1.5) / HEIGHT;
  const next = Math.max(LEAST, Math.min(perPixel * times, Math.max(most, 1)));
  view.value = { top: top + at * (perPixel - next), perPixel: next };
}

/** Moves so that a time is seen, and no more than needed to know what is around it. */
export function reveal(from: number, until: number): void {
  const { top, perPixel } = view.value;
  const bottom = top + HEIGHT * perPixel;
  if (from >= top && until <= bottom) return;
  view.value = { top: (from + until - HEIGHT * perPixel) / 2, perPixel };
}
