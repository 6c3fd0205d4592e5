/**
 * A rig as a forest: hosts at the roots, then switches and endpoints; and what joins devices beside PCI Express.
 *
 * Links and devices come from what the simulator resolved, so that a picture never shows what would not run.
 */
import type { Explain, NegotiatedLink } from "lanewise";
import { isTable, tableAt, textAt } from "../toml/plain.ts";

export type DeviceKind = "host" | "switch" | "endpoint";

export interface Device {
  /** As results name it: `sw0`, `nvme[3]`. */
  name: string;
  kind: DeviceKind;
  /** The link above it; none above a host. */
  link: NegotiatedLink | null;
  /** Name of the port above, without the device: `slot1`. */
  port: string;
  /** Devices below, in the order of their ports. */
  below: Device[];
  /** What else hangs on it, in words: drives behind an adapter. */
  beside: string[];
  /** Ports on which nothing is, those alike together. */
  free: FreePorts[];
}

/** Ports one after another that are alike, and free. */
export interface FreePorts {
  /** With their device: `sw0.port3`. */
  ports: string[];
  /** Generation and width: `gen4 x4`. */
  link: string;
}

/** Devices that something other than PCI Express joins. */
export interface SideLink {
  name: string;
  ends: [string, string];
  kind: string;
}

export interface Rig {
  title: string;
  roots: Device[];
  sideLinks: SideLink[];
  /** How many devices there are, hosts included. */
  count: number;
}

/**
 * The forest of a resolved scenario.
 *
 * @param written the scenario as plain data, for wires and drives, which no link of PCI Express shows
 */
export function rigOf(explained: Explain, written: unknown): Rig {
  const devices = new Map<string, Device>();
  const uppers = new Set(explained.links.map((link) => ofPort(link.upper).device));
  const known = (name: string, link: NegotiatedLink | null): Device => {
    const kind = link === null ? "host" : uppers.has(name) || isSwitch(explained, name) ? "switch" : "endpoint";
    const made: Device = { name, kind, link, port: link ? ofPort(link.upper).port : "", below: [], beside: [], free: [] };
    devices.set(name, made);
    return made;
  };
  for (const link of explained.links) known(link.lower, link);
  const roots: Device[] = [];
  for (const link of explained.links) {
    const above = ofPort(link.upper).device;
    let parent = devices.get(above);
    if (!parent) roots.push((parent = known(above, null)));
    parent.below.push(devices.get(link.lower) as Device);
  }
  for (const host of Object.keys(tableAt(written, "host"))) {
    if (!devices.has(host)) roots.push(known(host, null));
  }
  besides(devices, written);
  frees(devices, explained);
  return { title: explained.title, roots, sideLinks: sideLinks(written), count: devices.size };
}

/** Name of the group of a device, whose parameters it has: `nvme` of `nvme[3]`. */
export function groupOf(device: string): string {
  return device.replace(/\[\d+\]$/, "");
}

/** `sw0.port1` in its two parts. A name may have no dot, a port may. */
export function ofPort(full: string): { device: string; port: string } {
  const dot = full.indexOf(".");
  return dot < 0 ? { device: full, port: "" } : { device: full.slice(0, dot), port: full.slice(dot + 1) };
}

function isSwitch(explained: Explain, name: string): boolean {
  return explained.functions.some((each) => each.kind === "upstream port" && ofPort(each.name).device === name);
}

function besides(devices: Map<string, Device>, written: unknown): void {
  for (const [name, drives] of Object.entries(tableAt(written, "storage"))) {
    const above = devices.get(ofPort(textAt(drives, "attach")).device);
    if (above) above.beside.push(name);
  }
}

function frees(devices: Map<string, Device>, explained: Explain): void {
  const taken = new Set(explained.links.map((link) => link.upper));
  const links = new Map(explained.parameters.filter(({ path }) => path.endsWith(".link")).map(({ path, value }) => [path, value]));
  for (const { name, kind } of explained.functions) {
    if ((kind !== "root port" && kind !== "downstream port") || taken.has(name)) continue;
    const { device, port } = ofPort(name);
    const owner = devices.get(device);
    if (!owner) continue;
    const link = links.get(`${groupOf(device)}.${kind === "root port" ? "slots" : "ports"}.${port}.link`) ?? "";
    const last = owner.free.at(-1);
    if (last?.link === link) last.ports.push(name);
    else owner.free.push({ ports: [name], link });
  }
}

function sideLinks(written: unknown): SideLink[] {
  return Object.entries(tableAt(written, "network")).flatMap(([name, network]) => {
    const ends = isTable(network) && Array.isArray(network["ends"]) ? network["ends"] : [];
    const [first, second] = ends.map((end) => ofPort(String(end)).device);
    return first && second ? [{ name, ends: [first, second] as [string, string], kind: textAt(network, "kind") }] : [];
  });
}
