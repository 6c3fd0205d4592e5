/**
 * Where each device is drawn: hosts at the left, what hangs on them to the right, links level.
 *
 * A device is as tall as all that is below it, so every link is one straight line and no two cross. It needs no library: the order
 * of ports is given, and a leaf takes a row.
 */
import type { Device, FreePorts, Rig } from "./topology.ts";

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

/** Free ports, where their link would begin. */
export interface Stub {
  device: Device;
  free: FreePorts;
  x: number;
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
  stubs: Stub[];
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
const STUB_ROW = 28;
/** What a stub and its words take to the right. */
const STUB_WIDTH = 236;
const GAP = 10;
const MARGIN = 8;
/** From so many rows on they are low. */
const MANY = 10;

/** Places everything. */
export function drawingOf(rig: Rig, widths: Widths = WIDE): Drawing {
  const rows = rig.roots.reduce((sum, root) => sum + leaves(root), 0);
  const isDense = rows >= MANY;
  // Nothing is built on two drawings beside each other.
  const hasFree = widths === WIDE;
  const pitch = isDense ? DENSE_ROW : ROW;
  const boxes: Box[] = [];
  const wires: Wire[] = [];
  const stubs: Stub[] = [];
  const place = (device: Device, depth: number, top: number): Box => {
    const x = MARGIN + depth * (widths.box + widths.wire);
    const height = tall(device, pitch, hasFree) - GAP;
    const box = { device, x, y: top, width: widths.box, height };
    boxes.push(box);
    let row = top;
    for (const each of device.below) {
      const child = place(each, depth + 1, row);
      wires.push({ device: each, x1: x + widths.box, x2: child.x, y: child.y + child.height / 2 });
      row += tall(each, pitch, hasFree);
    }
    for (const free of hasFree ? device.free : []) {
      stubs.push({ device, free, x: x + widths.box, y: row + (STUB_ROW - GAP) / 2 });
      row += STUB_ROW;
    }
    return box;
  };
  let top = MARGIN;
  for (const root of rig.roots) {
    place(root, 0, top);
    top += tall(root, pitch, hasFree) + GAP;
  }
  const right = Math.max(...boxes.map((box) => box.x + box.width), 0);
  const sideWires = sides(rig, boxes, right);
  const widest = Math.max(right + (sideWires.length > 0 ? 110 : 0), ...stubs.map((stub) => stub.x + STUB_WIDTH));
  const height = Math.max(top - GAP + MARGIN, 0);
  return { width: widest + MARGIN, height, boxes, wires, stubs, sideWires, isDense };
}

/** What a device takes, with all that is below it and its free ports. */
function tall(device: Device, pitch: number, hasFree: boolean): number {
  const below = device.below.reduce((sum, each) => sum + tall(each, pitch, hasFree), 0);
  return Math.max(pitch, below + (hasFree ? device.free.length * STUB_ROW : 0));
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
