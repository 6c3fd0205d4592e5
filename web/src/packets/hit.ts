/** What a pointer is over in the space-time diagram. */
import { HEAD, type Scene, xOf } from "./draw.ts";
import { type Stroke, firstSeen } from "./model.ts";

/** The stroke at a place of the canvas, if there is one within a few pixels; TLPs before what is thinner. */
export function strokeAt(scene: Omit<Scene, "chosen" | "relatives" | "transaction">, x: number, y: number): Stroke | undefined {
  const { strokes, view, path, width } = scene;
  const time = view.top + (y - HEAD) * view.perPixel;
  const near = 5 * view.perPixel;
  let best: Stroke | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (let index = firstSeen(strokes, time - near); index < strokes.all.length; index++) {
    const stroke = strokes.all[index] as Stroke;
    if (stroke.leaves > time + near) break;
    const [x1, x2] = [xOf(stroke.from, path, width), xOf(stroke.to, path, width)];
    const part = (x - x1) / (x2 - x1);
    if (part < -0.05 || part > 1.05) continue;
    const [begin, end] = [stroke.leaves + part * (stroke.arrives - stroke.leaves), stroke.left + part * (stroke.arrived - stroke.left)];
    const off = Math.max(begin - time, time - end, 0);
    const isBar = ["blocked", "queued"].includes(stroke.row.kind);
    // Of several the one that is hit; bars only near their station.
    if (off > near || (isBar && Math.min(Math.abs(x - x1), Math.abs(x - x2)) > 9)) continue;
    const weight = off + (end - begin) * 0.01 + (stroke.row.kind === "tlp" ? 0 : near * 0.1);
    if (weight < least) [best, least] = [stroke, weight];
  }
  return best;
}
