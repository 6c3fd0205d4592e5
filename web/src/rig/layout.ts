/**
 * Where each device is drawn: hosts at the left, what hangs on them to the right, links level.
 *
 * A device is as tall as all that is below it, so every link is one straight line and no two cross. It needs no library: the order
 * of ports is given, and a leaf takes a row.
 */
import type { Device, Rig } from "./topology.ts";

export interface Box {
  device: Device;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Wire {
  /** The device below. */
  device: Device;
  /** From the box above to the box below. */
  x1: number;
  x2: number;
  y: number;
}

export interface SideWire {
  name: string;
  kind: string;
  /** Right ends of the two devices. */
  x: number;
  y1: number;
  y2: number;
}

export interface Drawing {
  width: number;
  height: number;
  boxes: Box[];
  wires: Wire[];
  sideWires: SideWire[];
  /** Rows are low, since there are many. */
  isDense: boolean;
}

/** Widths in units of the drawing, which are pixels at its natural size. */
export interface Widths {
  box: number;
  wire: number;
}

const WIDE: Widths = { box: 128, wire: 148 };
/** For two drawings beside each other, whose wires say less. */
export const NARROW: Widths = { box: 96, wire: 62 };
const ROW = 58;
const DENSE_ROW = 38;
const GAP = 10;
const MARGIN = 8;
/** From so many rows on they are low. */
const MANY = 10;

/** Places everything. */
export function drawingOf(rig: Rig, widths: Widths = WIDE): Drawing {
  const rows = rig.roots.reduce((sum, root) => sum + leaves(root), 0);
  const isDense = rows >= MANY;
  const pitch = isDense ? DENSE_ROW : ROW;
  const boxes: Box[] = [];
  const wires: Wire[] = [];
  const place = (device: Device, depth: number, top: number): Box => {
    const x = MARGIN + depth * (widths.box + widths.wire);
    const height = leaves(device) * pitch - GAP;
    const box = { device, x, y: top, width: widths.box, height };
    boxes.push(box);
    let row = top;
    for (const each of device.below) {
      const child = place(each, depth + 1, row);
      wires.push({ device: each, x1: x + widths.box, x2: child.x, y: child.y + child.height / 2 });
      row += leaves(each) * pitch;
    }
    return box;
  };
  let top = MARGIN;
  for (const root of rig.roots) {
    place(root, 0, top);
    top += leaves(root) * pitch + GAP;
  }
  const right = Math.max(...boxes.map((box) => box.x + box.width), 0);
  const sideWires = sides(rig, boxes, right);
  const height = Math.max(top - GAP + MARGIN, 0);
  return { width: right + MARGIN + (sideWires.length > 0 ? 110 : 0), height, boxes, wires, sideWires, isDense };
}

function leaves(device: Device): number {
  return Math.max(1, device.below.reduce((sum, each) => sum + leaves(each), 0));
}

function sides(rig: Rig, boxes: Box[], right: number): SideWire[] {
  const middle = (name: string): number | undefined => {
    const box = boxes.find((each) => each.device.name === name);
    return box && box.y + box.height / 2;
  };
  return rig.sideLinks.flatMap(({ name, kind, ends }) => {
    const [y1, y2] = [middle(ends[0]), middle(ends[1])];
    return y1 === undefined || y2 === undefined ? [] : [{ name, kind, x: right, y1, y2 }];
  });
}
