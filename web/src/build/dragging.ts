/**
 * A part of the palette, or a device of the picture, on its way to a port.
 *
 * While it is on its way the core is asked about each place where it could go, so that these light up or say why not. For a mouse or a
 * pen: a finger scrolls, and has the buttons.
 */
import { signal } from "@preact/signals";
import type { Part } from "lanewise";
import { type Rig, ofPort } from "../rig/topology.ts";
import { rig } from "../state/store.ts";
import { type Act, everyDevice, moved, withPart } from "./acts.ts";
import { type Verdict, attempted, cameUp, canBuild, judged, perform, word } from "./state.ts";

/** What is dragged. */
export type Load = { part: Part } | { device: string };

export interface Drag {
  load: Load;
  x: number;
  y: number;
  /** Where it would go; `space` is none of the places. */
  over: string | null;
}
export const drag = signal<Drag | null>(null);
/** What the core says of places, as far as it was asked. */
const verdicts = signal<ReadonlyMap<string, Verdict>>(new Map());

/** Less than this is a click, px. */
const LEAST = 6;
/** From the edge of the window, px; and how far it scrolls at a time. */
const EDGE = 50;
const STEP = 12;
const SPACE = "space";

/** Begins with a press of a button; nothing happens until the pointer has moved. */
export function grab(press: PointerEvent, load: Load): void {
  if (press.pointerType === "touch" || press.button !== 0 || !canBuild()) return;
  const isHost = "device" in load && rig.value?.roots.some((root) => root.name === load.device);
  if (isHost) return;
  const stop = new AbortController();
  const { signal: until } = stop;
  const move = (event: PointerEvent): void => {
    if (!drag.value) {
      if (Math.hypot(event.clientX - press.clientX, event.clientY - press.clientY) < LEAST) return;
      verdicts.value = new Map();
      void ask(load);
    }
    drag.value = { load, x: event.clientX, y: event.clientY, over: placeAt(event.clientX, event.clientY) };
    steps = event.clientY < EDGE ? -STEP : event.clientY > innerHeight - EDGE ? STEP : 0;
  };
  let steps = 0;
  // What is dragged to the edge of the window brings more of the page.
  const scroll = setInterval(() => drag.value && steps !== 0 && scrollBy(0, steps), 16);
  const end = (): void => {
    stop.abort();
    clearInterval(scroll);
    drag.value = null;
  };
  const drop = (): void => {
    const over = drag.value?.over ?? null;
    if (drag.value) {
      // The press ends on something that a click would choose.
      const swallow = (event: MouseEvent): void => event.stopPropagation();
      window.addEventListener("click", swallow, { capture: true, once: true });
      setTimeout(() => window.removeEventListener("click", swallow, { capture: true }), 0);
    }
    end();
    if (over !== null) void release(load, over);
  };
  window.addEventListener("pointermove", move, { signal: until });
  window.addEventListener("pointerup", drop, { signal: until });
  window.addEventListener("pointercancel", end, { signal: until });
  window.addEventListener("keydown", (event) => event.key === "Escape" && end(), { signal: until });
}

/** How a place looks while something is dragged: as a class. */
export function landing(place: string): string {
  const now = drag.value;
  if (!now) return "";
  const verdict = verdicts.value.get(place);
  const over = now.over === place ? "over" : "";
  return verdict ? `${verdict.fits ? "fits" : "refuses"} ${over}` : over;
}

/** What is said of the place under the pointer. */
export function saidOfPlace(): string {
  const now = drag.value;
  if (!now?.over) return "";
  const act = actAt(now.load, now.over);
  if (typeof act === "string") return act;
  const verdict = verdicts.value.get(now.over);
  if (!verdict) return "";
  return verdict.fits ? cameUp(verdict.explained, act?.device ?? null) || "It fits here." : verdict.why;
}

/** Asks of each place in turn, as long as the drag goes on. */
async function ask(load: Load): Promise<void> {
  await Promise.resolve();
  for (const place of places(load)) {
    const act = actAt(load, place);
    if (!drag.value || drag.value.load !== load) return;
    if (act === null || typeof act === "string") continue;
    const verdict = await judged(act.text);
    if (drag.value?.load === load) verdicts.value = new Map([...verdicts.value, [place, verdict]]);
  }
}

/** Where it could go: the first of each row of free ports, or devices that carry others. */
function places(load: Load): string[] {
  const all = rig.value ? everyDevice(rig.value) : [];
  const kind = "part" in load ? load.part.kind : "endpoint";
  if (kind === "host") return [SPACE];
  if (kind === "storage") return all.filter((each) => each.kind === "endpoint").map((each) => each.name);
  if (kind === "system") return all.filter((each) => each.kind === "host").map((each) => each.name);
  return all.flatMap((each) => each.free.flatMap(({ ports }) => ports.slice(0, 1)));
}

/** What letting go there would do; a sentence where it would do nothing. */
function actAt(load: Load, place: string): Act | string | null {
  return attempted((now, all) => actOn(now, all, load, place));
}

function actOn(now: string, all: Rig, load: Load, place: string): Act | string | null {
  if ("device" in load) return place === SPACE || ofPort(place).port === "" ? "Drop it on a free port." : moved(now, load.device, place, all);
  const { part } = load;
  if (part.kind === "host") return place === SPACE ? withPart(now, part, null) : "Drop a host beside the others.";
  if (part.kind === "storage" || part.kind === "system") return place === SPACE ? `Drop it on ${part.kind === "system" ? "a host" : "an adapter"}.` : withPart(now, part, place);
  return place === SPACE || ofPort(place).port === "" ? "It needs a port: drop it on a free one." : withPart(now, part, place);
}

/** The place under the pointer. A host or a switch stands for the first of its free ports that fits. */
function placeAt(x: number, y: number): string | null {
  const under = document.elementFromPoint(x, y);
  const port = under?.closest<SVGElement>("[data-port]")?.dataset["port"];
  if (port) return port;
  const device = under?.closest<SVGElement>("[data-device]")?.dataset["device"];
  const load = drag.value?.load;
  const hangs = load && "part" in load && ["storage", "system", "host"].includes(load.part.kind);
  if (device && hangs) return device;
  const ports = rig.value ? everyDevice(rig.value).find((each) => each.name === device)?.free.flatMap((free) => free.ports.slice(0, 1)) : [];
  const fit = ports?.find((each) => verdicts.value.get(each)?.fits) ?? ports?.[0];
  if (fit) return fit;
  if (device) return device;
  return under?.closest(".rig-scroll") ? SPACE : null;
}

async function release(load: Load, place: string): Promise<void> {
  const act = actAt(load, place);
  if (typeof act === "string") word.value = { kind: "refused", text: act };
  else await perform([act]);
}
