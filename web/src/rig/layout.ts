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
  /** Where links to devices below leave it, from above. */
  rows: number[];
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
  /** Of what has devices below it, where that is narrower. */
  trunk?: number;
  wire: number;
  /** What a stub and its words take to the right; free ports are not drawn without. */
  stub?: number;
}

export const WIDE: Widths = { box: 128, wire: 148, stub: 236 };
/** For two drawings beside each other, whose wires say less, and on which nothing is built. */
export const NARROW: Widths = { box: 96, wire: 62 };
/** For a phone: hosts and switches are bars, so that three levels are as wide as it is. */
export const PHONE: Widths = { box: 92, trunk: 34, wire: 112, stub: 190 };
const ROW = 58;
const DENSE_ROW = 38;
const STUB_ROW = 28;
const GAP = 10;
const MARGIN = 8;
/** From so many rows on they are low. */
const MANY = 10;

/** Places everything. */
export function drawingOf(rig: Rig, widths: Widths = WIDE): Drawing {
  const rows = rig.roots.reduce((sum, root) => sum + leaves(root), 0);
  const isDense = rows >= MANY;
  const hasFree = widths.stub !== undefined;
  const pitch = isDense ? DENSE_ROW : ROW;
  const boxes: Box[] = [];
  const wires: Wire[] = [];
  const stubs: Stub[] = [];
  // Two levels have room.
  const trunk = rig.roots.some((root) => root.below.some((each) => each.below.length > 0)) ? (widths.trunk ?? widths.box) : widths.box;
  const place = (device: Device, x: number, top: number): Box => {
    const height = tall(device, pitch, hasFree) - GAP;
    const width = device.below.length > 0 ? trunk : widths.box;
    const box: Box = { device, x, y: top, width, height, rows: [] };
    boxes.push(box);
    let row = top;
    for (const each of device.below) {
      const child = place(each, x + width + widths.wire, row);
      wires.push({ device: each, x1: x + width, x2: child.x, y: child.y + child.height / 2 });
      box.rows.push(child.y + child.height / 2);
      row += tall(each, pitch, hasFree);
    }
    for (const free of hasFree ? device.free : []) {
      stubs.push({ device, free, x: x + width, y: row + (STUB_ROW - GAP) / 2 });
      row += STUB_ROW;
    }
    return box;
  };
  let top = MARGIN;
  for (const root of rig.roots) {
    place(root, MARGIN, top);
    top += tall(root, pitch, hasFree) + GAP;
  }
  const right = Math.max(...boxes.map((box) => box.x + box.width), 0);
  const sideWires = sides(rig, boxes, right);
  const widest = Math.max(right + (sideWires.length > 0 ? 110 : 0), ...stubs.map((stub) => stub.x + (widths.stub ?? 0)));
  const height = Math.max(top - GAP + MARGIN, 0);
  return { width: widest + MARGIN, height, boxes, wires, stubs, sideWires, isDense };
}

/** The place nearest to `y` that is between two of the rows of a box, where names of ports stand: there is room for its own. */
export function between({ rows }: Box, y: number): number {
  const gaps = rows.slice(1).map((row, before) => (row + (rows[before] ?? row)) / 2);
  return gaps.sort((one, other) => Math.abs(one - y) - Math.abs(other - y))[0] ?? y;
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
