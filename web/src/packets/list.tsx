/** The analyzer's list: every packet of the trace, of which only those in sight are on the page. */
import { computed, effect, signal } from "@preact/signals";
import type { TraceRow } from "lanewise";
import { useEffect, useRef } from "preact/hooks";
import { fitted } from "../rig/words.ts";
import { type Order, lateness } from "./model.ts";
import { choose, chosen, listed, order, rows, trace } from "./state.ts";
import { credits, ns, waitWords } from "./words.ts";

const ROW = 22;
const PAGE = 20;
/** Rows above and below what is in sight. */
const BEYOND = 8;

/** Letters of a name that the list has room for at most, and at least. */
const LETTERS = 18;
const LEAST_LETTERS = 8;
const letters = computed(() => {
  const longest = Math.max(0, ...(trace.value?.directions ?? []).map(({ link }) => link.length));
  return Math.min(LETTERS, Math.max(LEAST_LETTERS, longest));
});

/** How far it is scrolled, and how high it is. */
const sight = signal({ top: 0, height: PAGE * ROW });
/** Place in the list of the row that the keyboard is at. */
const active = signal(0);

/** A field of a packet; of what is none, which takes the place, nothing. */
function field(of: (row: TraceRow) => string | number | null): (row: TraceRow) => string {
  return (row) => (["tlp", "dllp"].includes(row.kind) ? String(of(row) ?? "–") : "");
}

/** What it waited for, or what else there is to say; of what is no packet, about whose. */
function rest(row: TraceRow): string {
  const whose = row.kind !== "tlp" && row.requester !== null ? `of ${row.requester}${row.tag === null ? "" : `, tag ${row.tag}`}` : "";
  return [waitWords(row), row.note, whose].filter(Boolean).join("; ");
}

const COLUMNS: [string, string, (row: TraceRow) => string][] = [
  ["ns", "number", (row) => row.at_ns.toFixed(3)],
  ["on wire", "number", (row) => (row.span_ticks === 0 ? "–" : ns(row.span_ticks))],
  ["link", "", (row) => fitted(row.link, LETTERS)],
  ["way", "", (row) => (row.direction === "upstream" ? "← up" : "down →")],
  ["seq", "number", (row) => String(row.sequence ?? (row.kind === "dllp" ? "–" : ""))],
  ["what", "what", (row) => row.what],
  ["from", "", field((row) => row.requester && fitted(row.requester, LETTERS))],
  ["tag", "number", field((row) => row.tag)],
  ["address", "number", field((row) => row.address)],
  ["B", "number", field((row) => row.length_bytes)],
  ["credits", "number", field(credits)],
  ["waited, ns, and what for", "", rest],
];

const ORDERS: [Order, string, string][] = [
  ["time", "By time", "In the order in which they left."],
  ["waited", "Longest wait", "TLPs only: those first that waited longest where they left from."],
  ["late", "Latest", "TLPs only: those first whose request was issued longest before."],
];

const shown = computed(() => {
  const first = Math.max(0, Math.floor(sight.value.top / ROW) - BEYOND);
  const last = Math.min(listed.value.length, Math.ceil((sight.value.top + sight.value.height) / ROW) + BEYOND);
  return { first, indexes: listed.value.slice(first, last) };
});

export function PacketList() {
  const home = useRef<HTMLDivElement>(null);
  useEffect(() => following(home.current as HTMLDivElement), []);
  const { first, indexes } = shown.value;
  const count = listed.value.length;
  return (
    <div class="packet-list">
      <div class="packet-tools">
        <span class="row-of-buttons" role="group" aria-label="Order of the list">
          {ORDERS.map(([id, words, about]) => (
            <button key={id} id={`order-${id}`} title={about} aria-pressed={order.value === id} onClick={() => reorder(id)}>
              {words}
            </button>
          ))}
        </span>
        <span id="packet-count">{countWords()}</span>
      </div>
      <div
        ref={home}
        id="packets"
        class="packet-rows"
        style={{ "--name": `${letters.value}ch` }}
        role="grid"
        tabindex={0}
        aria-label="Packets. Arrow keys move, Enter chooses."
        aria-rowcount={count + 1}
        aria-colcount={COLUMNS.length}
        aria-activedescendant={count > 0 ? `packet-${active.value}` : undefined}
        onScroll={(event) => (sight.value = { top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight })}
        onKeyDown={(event) => {
          if (event.key === "Enter" || event.key === " ") choose(listed.value[active.value] ?? null);
          else if (!move(event.key)) return;
          event.preventDefault();
        }}
      >
        <div role="row" class="packet-row heading" aria-rowindex={1}>
          {COLUMNS.map(([name, kind]) => (
            <span key={name} role="columnheader" class={kind}>
              {name}
            </span>
          ))}
        </div>
        <div role="presentation" class="packet-space" style={{ height: `${count * ROW}px` }}>
          {indexes.map((index, at) => (
            <Row key={index} index={index} at={first + at} />
          ))}
        </div>
      </div>
    </div>
  );
}

function Row({ index, at }: { index: number; at: number }) {
  const row = rows.value[index];
  if (!row) return null;
  const classes = ["packet-row", row.kind, chosen.value === index ? "chosen" : "", active.value === at ? "active" : ""];
  return (
    <div
      role="row"
      id={`packet-${at}`}
      data-index={index}
      class={classes.join(" ")}
      style={{ top: `${at * ROW}px` }}
      aria-rowindex={at + 2}
      aria-selected={chosen.value === index}
      title={order.value === "late" ? `${ns(lateness(row))} ns after its request was issued` : undefined}
      onClick={() => {
        active.value = at;
        choose(index);
      }}
    >
      {COLUMNS.map(([name, kind, of]) => (
        <span key={name} role="gridcell" class={kind}>
          {of(row)}
        </span>
      ))}
    </div>
  );
}

function reorder(next: Order): void {
  order.value = next;
  active.value = 0;
  // The worst is what one wants to see.
  if (next !== "time") choose(listed.value[0] ?? null);
}

function countWords(): string {
  const all = trace.value;
  if (!all) return "";
  const { seen, rows: kept } = all;
  const number = (value: number): string => value.toLocaleString("en");
  if (order.value !== "time") return `${number(listed.value.length)} TLPs`;
  return seen > kept.length ? `the last ${number(kept.length)} of ${number(seen)}` : `${number(kept.length)} rows`;
}

/** Moves the keyboard's row; false for a key that does not. */
function move(key: string): boolean {
  const last = listed.value.length - 1;
  const to: Record<string, number> = {
    ArrowDown: active.value + 1, ArrowUp: active.value - 1, PageDown: active.value + PAGE, PageUp: active.value - PAGE, Home: 0, End: last,
  };
  const next = to[key];
  if (next === undefined) return false;
  active.value = Math.max(0, Math.min(next, last));
  return true;
}

/** Keeps the row of the keyboard, and the one that was chosen elsewhere, in sight; returns what ends that. */
function following(home: HTMLDivElement): () => void {
  const into = (at: number): void => {
    const [top, bottom] = [at * ROW, (at + 2) * ROW];
    if (top < home.scrollTop) home.scrollTop = top;
    else if (bottom > home.scrollTop + home.clientHeight) home.scrollTop = bottom - home.clientHeight;
  };
  // The space has its height only when it was drawn.
  const later = (at: number): number => requestAnimationFrame(() => into(at));
  const stopKeyboard = effect(() => void later(active.value));
  const stopChoice = effect(() => {
    const at = chosen.value === null ? -1 : listed.value.indexOf(chosen.value);
    if (at >= 0) active.value = at;
  });
  const observer = new ResizeObserver(() => (sight.value = { top: home.scrollTop, height: home.clientHeight }));
  observer.observe(home);
  return () => {
    stopKeyboard();
    stopChoice();
    observer.disconnect();
  };
}
