/** The tree of the rig, and what goes over its links at the last look of a run. */
import { computed, signal } from "@preact/signals";
import type { LiveDirection, LiveLink, LivePool, NegotiatedLink, Results, State } from "lanewise";
import { grab, landing } from "../build/dragging.ts";
import { FreePortsView } from "../build/free-ports.tsx";
import { type Box, type Drawing, PHONE, type SideWire, WIDE, type Wire, between, drawingOf } from "../rig/layout.ts";
import { colourOfUse } from "../rig/colour.ts";
import { memoryUse } from "../rig/memory-wire.ts";
import { ofPort } from "../rig/topology.ts";
import { cause, fitted, isHeldUp, percent, rate } from "../rig/words.ts";
import { isOnePacket, live, mistakes, results, rig, selected } from "../state/store.ts";
import { deleteDevice } from "../build/state.ts";

/** What is shown of one direction: at the last look of a run, or over a whole one. */
interface Flow {
  goodput: number;
  use: number;
  queued: number;
  /** Part of the time that CXL.mem has the wire, beside that; null where it carries none. */
  memory: number | null;
  /** How full the receiver's buffer is, of the fullest class; null where credits are infinite. */
  received: number | null;
  heldUpBy: string | null;
  isDown: boolean;
  /** A packet left just now: then there are no rates. */
  hasSent: boolean | null;
}

/** On a phone the picture is drawn for its width. */
const phone = matchMedia("(max-width: 700px)");
const isPhone = signal(phone.matches);
phone.addEventListener("change", () => (isPhone.value = phone.matches));
const drawing = computed<Drawing | null>(() => rig.value && drawingOf(rig.value, isPhone.value ? PHONE : WIDE));

/** By the name of the link. */
const flows = computed<Map<string, { up: Flow; down: Flow }>>(() => {
  if (results.value) return measured(results.value);
  const state = live.value;
  return new Map((state?.links ?? []).map((link) => [link.name, { up: now(state!, link, "upstream"), down: now(state!, link, "downstream") }]));
});

export function Rig() {
  const shown = drawing.value;
  if (!shown) return <p class="empty">{mistakes.value.length > 0 ? "The scenario has mistakes: they are marked in the text." : "…"}</p>;
  const isStale = mistakes.value.length > 0;
  return (
    <div class={`rig-scroll ${isStale ? "stale" : ""}`} tabindex={0} role="group" aria-label="Picture of the rig">
      <svg
        id="rig"
        class={`rig ${shown.isDense ? "dense" : ""}`}
        viewBox={`0 0 ${shown.width} ${shown.height}`}
        style={{ maxWidth: `${shown.width * 1.25}px`, minWidth: `${isPhone.value ? shown.width * 0.84 : Math.min(shown.width * 0.72, 900)}px` }}
        role="group"
        aria-label={rig.value?.title ?? ""}
      >
        {shown.wires.map((wire) => (
          <WireView key={wire.device.name} wire={wire} isDense={shown.isDense} />
        ))}
        {shown.sideWires.map((side) => (
          <SideView key={side.name} side={side} />
        ))}
        {shown.boxes.map((box) => (
          <BoxView key={box.device.name} box={box} isDense={shown.isDense} />
        ))}
        {shown.boxes.filter((box) => box.height >= 2 * APART).map((box) => (
          <Again key={box.device.name} box={box} isDense={shown.isDense} />
        ))}
        {shown.stubs.map((stub) => (
          <FreePortsView key={stub.free.ports[0]} stub={stub} isShort={isPhone.value} />
        ))}
        {!isPhone.value && shown.wires.map((wire) => (
          <text key={wire.device.name} class="port" x={wire.x1 - 6} y={wire.y + 3.5}>
            {wire.device.port}
          </text>
        ))}
      </svg>
      <p class="legend">On each link: payload, and the part of the time that the wire is in use. Above → away from the host, below ← towards it. While it runs, bars at an end are packets that wait there, red where something holds them up; the small vessel at the other end is the receiver's buffer, as full as it is. A + is a free port: press it, or drop a part or a device on it.</p>
    </div>
  );
}

function BoxView({ box, isDense }: { box: Box; isDense: boolean }) {
  const { device } = box;
  const isSelected = selected.value === device.name;
  const link = device.link && speedOf(device.link);
  const under = [link, ...device.beside].filter(Boolean).join(", ");
  const named = namedAs(box, under, isDense);
  const label = `${[named.name, named.under || under].filter(Boolean).join(" ")}, ${device.kind}`;
  return (
    <g
      class={`box ${device.kind} ${isSelected ? "selected" : ""} ${landing(device.name)}`}
      data-device={device.name}
      role="button"
      tabindex={0}
      aria-pressed={isSelected}
      aria-label={named.name === device.name ? label : `${label}: ${device.name}`}
      onClick={() => choose(device.name)}
      onPointerDown={(event) => grab(event, { device: device.name })}
      onKeyDown={(event) => {
        if (event.key === "Delete" || event.key === "Backspace") {
          event.preventDefault();
          void deleteDevice(device.name);
        }
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose(device.name);
      }}
    >
      <title>{[device.name, under].filter(Boolean).join(", ")}</title>
      <rect x={box.x} y={box.y} width={box.width} height={box.height} rx={5} />
      <Names named={named} />
    </g>
  );
}

/** A box that is narrower has its name upright. */
const NAMED = 60;
/** A name is repeated so often that one of them is in sight. */
const APART = 400;

interface Named {
  name: string;
  under: string;
  isUpright: boolean;
  x: number;
  y: number;
}

/** What a box has room for. */
function namedAs(box: Box, under: string, isDense: boolean, at = box.y + box.height / 2): Named {
  const { device, x, width, height, rows } = box;
  const isUpright = width < NAMED;
  // Beside the name of its only port.
  const port = rows.length === 1 ? (device.below[0]?.port.length ?? 0) * 6 : 0;
  const name = fitted(device.name, (isUpright ? height : width - 16 - port) / (isDense ? 7.4 : 8.6));
  return { name, under: isUpright ? "" : fitted(under, (width - 14) / (isDense ? 5.1 : 5.6)), isUpright, x: isUpright ? x + width / 2 : x + 10, y: isUpright ? at : between(box, at) };
}

function Names({ named: { name, under, isUpright, x, y } }: { named: Named }) {
  return (
    <>
      <text class={`name ${isUpright ? "upright" : ""}`} x={x} y={y + (under ? -2 : 4)} transform={isUpright ? `rotate(-90 ${x} ${y})` : undefined}>
        {name}
      </text>{" "}
      {under && (
        <text class="under" x={x} y={y + 11}>
          {under}
        </text>
      )}
    </>
  );
}

/** The name of a tall box again, above and below its middle: for eyes only. */
function Again({ box, isDense }: { box: Box; isDense: boolean }) {
  const times = Math.floor(box.height / 2 / APART);
  const steps = Array.from({ length: times }, (_, index) => index + 1).flatMap((step) => [-step, step]);
  return (
    <g class="again" aria-hidden="true">
      {steps.map((step) => (
        <Names key={step} named={namedAs(box, "", isDense, box.y + box.height * (0.5 + step / (2 * times + 1)))} />
      ))}
    </g>
  );
}

function WireView({ wire, isDense }: { wire: Wire; isDense: boolean }) {
  const flow = flows.value.get(wire.device.name);
  const apart = isDense ? 3 : 4;
  const lanes = Number(wire.device.link?.width.slice(1) ?? 1);
  const thick = Math.min(5, 1.6 + Math.log2(lanes) * 0.7) * (isDense ? 0.8 : 1);
  return (
    <g class="wire">
      <Lane wire={wire} flow={flow?.down} y={wire.y - apart} thick={thick} isUp={false} />
      <Lane wire={wire} flow={flow?.up} y={wire.y + apart} thick={thick} isUp={true} />
    </g>
  );
}

function Lane({ wire, flow, y, thick, isUp }: { wire: Wire; flow: Flow | undefined; y: number; thick: number; isUp: boolean }) {
  const words = flow ? said(flow) : "";
  const [from, to] = isUp ? [wire.x2, wire.x1] : [wire.x1, wire.x2];
  const textY = isUp ? y + 12 : y - 5;
  const start = from + (isUp ? -6 : 6);
  return (
    <g class={`lane ${isUp ? "upstream" : "downstream"} ${flow?.isDown ? "down" : ""}`}>
      <title>{`${wire.device.name}, ${isUp ? "upstream" : "downstream"}: ${flow ? words : "not simulated yet"}`}</title>
      <line x1={from} x2={to} y1={y} y2={y} stroke-width={thick} style={{ stroke: colourOf(flow) }} />
      <path class="head" d={isUp ? `M${to + 7} ${y - 3.4}L${to} ${y}L${to + 7} ${y + 3.4}Z` : `M${to - 7} ${y - 3.4}L${to} ${y}L${to - 7} ${y + 3.4}Z`} style={{ fill: colourOf(flow) }} />
      {flow && flow.hasSent !== false && (
        <text class="rate" x={(wire.x1 + wire.x2) / 2} y={textY}>
          {isUp ? "← " : ""}
          {flow.hasSent ? "a TLP leaves" : flow.memory ? `CXL.mem · ${percent(flow.memory)}` : `${rate(flow.goodput)} · ${percent(flow.use)}`}
          {isUp ? "" : " →"}
        </text>
      )}
      {flow && flow.queued > 0 && <QueueView x={start} y={y} flow={flow} isUp={isUp} />}
      {flow && flow.received !== null && <BufferView x={to + (isUp ? 3 : -8)} y={y + (isUp ? 9 : -9)} part={flow.received} />}
    </g>
  );
}

/** What waits at a transmitter: a bar for each packet, up to eight; struck out in red where it is held up. */
function QueueView({ x, y, flow, isUp }: { x: number; y: number; flow: Flow; isUp: boolean }) {
  const bars = Math.min(flow.queued, 8);
  const side = isUp ? -1 : 1;
  return (
    <g class={`queue ${flow.heldUpBy ? "held" : ""}`}>
      {Array.from({ length: bars }, (_, index) => (
        <rect key={index} x={x + side * index * 3.5 - (isUp ? 2.5 : 0)} y={y - 3} width={2.5} height={6} />
      ))}
    </g>
  );
}

/** The receiver's buffer, which fills from below. */
function BufferView({ x, y, part }: { x: number; y: number; part: number }) {
  const tall = 9;
  return (
    <g class={`buffer ${part > 0.9 ? "full" : ""}`}>
      <rect class="room" x={x} y={y - tall / 2} width={5} height={tall} />
      <rect x={x} y={y + tall / 2 - tall * part} width={5} height={tall * part} />
    </g>
  );
}

function SideView({ side }: { side: SideWire }) {
  const bend = side.x + 34;
  return (
    <g class="side">
      <path d={`M${side.x} ${side.y1}C${bend} ${side.y1} ${bend} ${side.y2} ${side.x} ${side.y2}`} />
      <text x={side.x + 30} y={(side.y1 + side.y2) / 2 - 2}>
        {side.name}
      </text>
      <text class="under" x={side.x + 30} y={(side.y1 + side.y2) / 2 + 11}>
        {side.kind}
      </text>
    </g>
  );
}

/** How a link came up; and what held it down, when that is what the device is plugged into. */
function speedOf(link: NegotiatedLink): string {
  const place = [link.width_limited_by, link.generation_limited_by].find((path) => path.startsWith(ofPort(link.upper).device));
  const speed = `${link.generation} ${link.width}`;
  return place ? `${speed}, by ${ofPort(place).port.replace(/^(ports|slots)\./, "")}` : speed;
}

function choose(name: string): void {
  selected.value = selected.value === name ? null : name;
}

/** By the part of the time that anything is on the wire; one packet by itself has no such part. */
function colourOf(flow: Flow | undefined): string {
  if (flow && flow.hasSent !== null) return flow.hasSent ? "var(--wire-half)" : "var(--wire-idle)";
  return colourOfUse(Math.max(flow?.use ?? 0, flow?.memory ?? 0));
}

function said(flow: Flow): string {
  const queue = (flow.queued > 0 ? `, ${flow.queued} TLPs wait` : "") + (flow.received !== null ? `, the receiver's buffer is ${percent(flow.received)} full` : "");
  const held = flow.heldUpBy ? `; ${cause(flow.heldUpBy)}` : "";
  const memory = flow.memory === null ? "" : `; CXL.mem has it ${percent(flow.memory)} of the time beside that`;
  const rates = `${rate(flow.goodput)} of payload, in use ${percent(flow.use)}${memory}`;
  const packet = flow.hasSent ? "a TLP leaves" : "nothing leaves";
  return `${flow.hasSent === null ? rates : packet}${queue}${held}`;
}

function now(state: State, link: LiveLink, direction: "upstream" | "downstream"): Flow {
  const { goodput_gb_per_s, tlps_per_s, utilisation, queued_tlps, waits_for, credits, link: level }: LiveDirection = link[direction];
  const queued = queued_tlps.posted + queued_tlps.non_posted + queued_tlps.completion;
  const heldUpBy = isHeldUp(waits_for) ? waits_for : null;
  const received = fullest([credits.posted, credits.non_posted, credits.completion]);
  const memory = memoryUse(state, link.name, direction);
  return { goodput: goodput_gb_per_s, use: utilisation, memory, queued, received, heldUpBy, isDown: level === "down", hasSent: isOnePacket.value ? tlps_per_s > 0 : null };
}

/** The part of a receive buffer that is taken, of the pool that has least room left. */
function fullest(pools: LivePool[]): number | null {
  const parts = pools.flatMap((pool) => [
    [pool.header_held, pool.header_advertised],
    [pool.data_held, pool.data_advertised],
  ]);
  const finite = parts.flatMap(([held, all]) => (all ? [Math.min(1, (held ?? 0) / all)] : []));
  return finite.length > 0 ? Math.max(...finite) : null;
}

function measured(all: Results): Map<string, { up: Flow; down: Flow }> {
  const of = (link: Results["links"][number], way: "upstream" | "downstream"): Flow => {
    const { ladder, utilisation } = link[way];
    return { goodput: ladder.goodput_gb_per_s, use: utilisation, memory: memoryUse(all, link.name, way), queued: 0, received: null, heldUpBy: null, isDown: false, hasSent: null };
  };
  return new Map(all.links.map((link) => [link.name, { up: of(link, "upstream"), down: of(link, "downstream") }]));
}
