/** The space-time diagram: stations beside each other, time downwards, what is on the wires from one to the next. Only what is seen is drawn. */
import type { Transaction } from "lanewise";
import { fitted } from "../rig/words.ts";
import { type Path, type Stroke, type Strokes, firstSeen, isHeld, isWithinHost } from "./model.ts";
import { HEIGHT, type View } from "./view.ts";
import { TICKS_PER_NS } from "./words.ts";

/** Above the diagram, for names; at its left, for times. */
export const HEAD = 24;
export const GUTTER = 78;
const RIGHT = 22;
/** A stroke with so many pixels of time on the wire has room for its name. */
const ROOM_FOR_NAME = 12;
const FONT = "11px system-ui, sans-serif";

export interface Scene {
  path: Path;
  strokes: Strokes;
  view: View;
  width: number;
  chosen: Stroke | undefined;
  /** Places among the rows of TLPs of the same request. */
  relatives: ReadonlySet<number>;
  transaction: Transaction | null;
}

/** Colours of the page, by what they are for. */
export type Palette = Record<"panel" | "ink" | "soft" | "rule" | "accent" | "bad" | "request" | "completion" | "dllp" | "skp" | "flit", string>;

/** Where a station stands. */
export function xOf(station: number, path: Path, width: number): number {
  const last = Math.max(path.stations.length - 1, 1);
  return GUTTER + 8 + ((width - GUTTER - 8 - RIGHT) * station) / last;
}

export function yOf(ticks: number, { top, perPixel }: View): number {
  return HEAD + (ticks - top) / perPixel;
}

/** Draws all that is seen, and says how many strokes that were. */
export function draw(canvas: CanvasRenderingContext2D, scene: Scene, palette: Palette): number {
  const { width, path } = scene;
  canvas.fillStyle = palette.panel;
  canvas.fillRect(0, 0, width, HEAD + HEIGHT);
  canvas.font = FONT;
  grid(canvas, scene, palette);
  canvas.save();
  canvas.beginPath();
  canvas.rect(GUTTER, HEAD, width - GUTTER, HEIGHT);
  canvas.clip();
  stations(canvas, scene, palette);
  const drawn = wires(canvas, scene, palette);
  marks(canvas, scene, palette);
  canvas.restore();
  names(canvas, path, width, palette);
  return drawn;
}

/** Times at round distances. */
function grid(canvas: CanvasRenderingContext2D, { view, width }: Scene, palette: Palette): void {
  const perPixel = view.perPixel / TICKS_PER_NS;
  const rough = perPixel * 56;
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * ten).find((each) => each >= rough) ?? ten * 10;
  const digits = Math.min(3, Math.max(0, -Math.floor(Math.log10(step))));
  canvas.textAlign = "right";
  canvas.textBaseline = "middle";
  for (let at = Math.ceil(view.top / TICKS_PER_NS / step) * step; ; at += step) {
    const y = yOf(at * TICKS_PER_NS, view);
    if (y > HEAD + HEIGHT) return;
    canvas.fillStyle = palette.rule;
    canvas.fillRect(GUTTER, y, width - GUTTER, 1);
    canvas.fillStyle = palette.soft;
    if (y > HEAD + 6) canvas.fillText(at.toFixed(digits), GUTTER - 12, y);
  }
}

function names(canvas: CanvasRenderingContext2D, path: Path, width: number, palette: Palette): void {
  canvas.textBaseline = "middle";
  canvas.fillStyle = palette.ink;
  canvas.font = `600 ${FONT}`;
  const letters = lettersOf(path, xOf(1, path, width) - xOf(0, path, width));
  path.stations.forEach((name, index) => {
    const isLast = index === path.stations.length - 1;
    canvas.textAlign = isLast ? "right" : index === 0 ? "left" : "center";
    canvas.fillText(fitted(name, letters), xOf(index, path, width) + (isLast ? RIGHT - 4 : index === 0 ? -5 : 0), HEAD / 2);
  });
  canvas.font = FONT;
  canvas.fillStyle = palette.soft;
  canvas.textAlign = "right";
  canvas.fillText("ns", GUTTER - 12, HEAD / 2);
}

/** How many letters names of stations have room for, so many pixels apart: all that they have, unless two would lie on one another. */
function lettersOf({ stations }: Path, apart: number): number {
  const letters = apart / 7.2;
  const last = stations.length - 1;
  // The first and the last stand beside their line, the others over it.
  const part = (index: number): number => (index === 0 || index === last ? 1 : 0.5);
  const fits = stations.slice(1).every((name, before) => (stations[before]?.length ?? 0) * part(before) + name.length * part(before + 1) < letters);
  return fits ? Number.POSITIVE_INFINITY : Math.floor(letters * (last === 1 ? 0.48 : 0.62));
}

/** The stations' lines; and where a request was, at its device or in it. */
function stations(canvas: CanvasRenderingContext2D, scene: Scene, palette: Palette): void {
  const { path, view, width, transaction } = scene;
  canvas.fillStyle = palette.soft;
  path.stations.forEach((_, index) => canvas.fillRect(xOf(index, path, width) - 0.5, HEAD, 1, HEIGHT));
  canvas.fillStyle = palette.accent;
  for (const { place, stage, at_ticks, span_ticks } of transaction?.stations ?? []) {
    const at = ["link", "forward"].includes(stage) ? -1 : path.stations.indexOf(place);
    if (at < 0) continue;
    const y = yOf(at_ticks, view);
    const thick = stage === "queue" || stage === "entry" ? 7 : 3;
    canvas.fillRect(xOf(at, path, width) - thick / 2, y, thick, Math.max(1, yOf(at_ticks + span_ticks, view) - y));
  }
}

/** What is on the wires. What is too thin to have an area is a line, and those that would lie on one another are drawn once. */
function wires(canvas: CanvasRenderingContext2D, scene: Scene, palette: Palette): number {
  const { view, strokes } = scene;
  const until = view.top + HEIGHT * view.perPixel;
  const thin = new Map<string, { path: Path2D; last: number[] }>();
  let drawn = 0;
  for (let index = firstSeen(strokes, view.top); index < strokes.all.length; index++) {
    const stroke = strokes.all[index] as Stroke;
    if (stroke.leaves > until) break;
    if (Math.max(stroke.arrived, stroke.left) < view.top) continue;
    drawn++;
    if (["blocked", "error", "queued"].includes(stroke.row.kind)) happening(canvas, scene, stroke, palette);
    else if ((stroke.left - stroke.leaves) / view.perPixel >= 2.5) area(canvas, scene, stroke, palette);
    else line(thin, scene, stroke);
  }
  for (const [style, { path }] of thin) {
    inStyle(canvas, style, palette);
    canvas.stroke(path);
  }
  canvas.setLineDash([]);
  canvas.lineWidth = 1;
  return drawn;
}

function styleOf({ row }: Stroke): "request" | "completion" | "dllp" | "skp" | "flit" {
  if (row.kind === "tlp") return row.what.startsWith("Cpl") ? "completion" : "request";
  return row.kind === "dllp" || row.kind === "flit" ? row.kind : "skp";
}

/** TLPs have a solid edge, DLLPs dashes, ordered sets dots: also where colours are not seen. */
function inStyle(canvas: CanvasRenderingContext2D, style: string, palette: Palette): void {
  canvas.strokeStyle = palette[style as keyof Palette];
  canvas.setLineDash(style === "dllp" ? [5, 3] : style === "skp" ? [1.5, 3] : []);
  canvas.lineWidth = style === "request" || style === "completion" ? 1.4 : 1.1;
}

function corners({ view, path, width }: Scene, { from, to, leaves, left, arrives, arrived }: Stroke): [number, number][] {
  const [x1, x2] = [xOf(from, path, width), xOf(to, path, width)];
  return [[x1, yOf(leaves, view)], [x2, yOf(arrives, view)], [x2, yOf(arrived, view)], [x1, yOf(left, view)]];
}

function shape(points: [number, number][]): Path2D {
  const made = new Path2D();
  points.forEach(([x, y], index) => (index === 0 ? made.moveTo(x, y) : made.lineTo(x, y)));
  made.closePath();
  return made;
}

function area(canvas: CanvasRenderingContext2D, scene: Scene, stroke: Stroke, palette: Palette): void {
  const style = styleOf(stroke);
  const points = corners(scene, stroke);
  const outline = shape(points);
  inStyle(canvas, style, palette);
  if (style === "request" || style === "completion") {
    canvas.globalAlpha = 0.22;
    canvas.fillStyle = palette[style];
    canvas.fill(outline);
    canvas.globalAlpha = 1;
  }
  canvas.stroke(outline);
  canvas.setLineDash([]);
  const [[x1, top], [x2, arrives], , [, bottom]] = points as [[number, number], [number, number], [number, number], [number, number]];
  if (bottom - top < ROOM_FOR_NAME || Math.abs(x2 - x1) < 60) return;
  // Nearer to where it comes from, so that two that cross can both be read.
  const { row } = stroke;
  canvas.fillStyle = palette.ink;
  canvas.textAlign = "center";
  canvas.textBaseline = "middle";
  canvas.fillText(row.tag === null ? row.what : `${row.what} ${row.tag}`, x1 + (x2 - x1) * 0.32, (top + bottom) / 2 + (arrives - top) * 0.32);
}

function line(thin: Map<string, { path: Path2D; last: number[] }>, { view, path, width }: Scene, stroke: Stroke): void {
  const style = styleOf(stroke);
  let group = thin.get(style);
  if (!group) thin.set(style, (group = { path: new Path2D(), last: [] }));
  const y = yOf(stroke.leaves, view);
  const lane = stroke.from * 2 + (stroke.to > stroke.from ? 1 : 0);
  // A pixel shows one.
  if (y - (group.last[lane] ?? Number.NEGATIVE_INFINITY) < 0.75) return;
  group.last[lane] = y;
  group.path.moveTo(xOf(stroke.from, path, width), y);
  group.path.lineTo(xOf(stroke.to, path, width), yOf(stroke.arrives, view));
}

/** What is no packet: a wait, as a bar at the station that is held up; an error, as a cross where it is noticed. */
function happening(canvas: CanvasRenderingContext2D, { view, path, width }: Scene, { row, from, to, leaves, left }: Stroke, palette: Palette): void {
  canvas.setLineDash([]);
  const side = Math.sign(to - from);
  if (row.kind === "error") {
    const [x, y] = [xOf(to, path, width) - side * 7, yOf(leaves, view)];
    canvas.strokeStyle = palette.bad;
    canvas.lineWidth = 2;
    canvas.beginPath();
    canvas.moveTo(x - 4, y - 4);
    canvas.lineTo(x + 4, y + 4);
    canvas.moveTo(x + 4, y - 4);
    canvas.lineTo(x - 4, y + 4);
    canvas.stroke();
  } else if (isHeld(row)) {
    const inHost = isWithinHost(row);
    const x = xOf(inHost ? to : from, path, width) + (inHost ? -side : side) * 5;
    const y = yOf(leaves, view);
    canvas.fillStyle = palette.bad;
    canvas.globalAlpha = 0.75;
    canvas.fillRect(x - 1.5, y, 3, Math.max(1, yOf(left, view) - y));
    canvas.globalAlpha = 1;
  } else if (row.kind === "queued") {
    canvas.fillStyle = palette.soft;
    canvas.fillRect(xOf(from, path, width) - 2, yOf(leaves, view) - 1, 4, 2);
  }
}

/** The packet that is looked at, those of its request, and its wait. */
function marks(canvas: CanvasRenderingContext2D, scene: Scene, palette: Palette): void {
  const { view, path, width, strokes, chosen, relatives } = scene;
  canvas.setLineDash([]);
  canvas.strokeStyle = palette.ink;
  canvas.lineWidth = 1.8;
  for (const stroke of strokes.all) if (relatives.has(stroke.index) && stroke !== chosen) canvas.stroke(shape(corners(scene, stroke)));
  if (!chosen) return;
  canvas.strokeStyle = palette.accent;
  canvas.lineWidth = 3;
  canvas.stroke(shape(corners(scene, chosen)));
  const since = chosen.row.ready_at_ticks;
  if (since === null || chosen.row.kind !== "tlp" || chosen.row.waits.length === 0) return;
  const x = xOf(chosen.from, path, width);
  const [y1, y2] = [yOf(since, view), yOf(chosen.leaves, view)];
  canvas.lineWidth = 2;
  canvas.strokeRect(x - 4, y1, 8, y2 - y1);
}
