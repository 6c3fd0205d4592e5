/**
 * The trace on the page: what was asked for, what came, and which packet is looked at.
 *
 * It has a simulator of its own, so that a long trace can be stopped and holds nothing else up. A trace is of the text as it is, from the start of a run;
 * it is asked for by a press of a button, and once when the tab is first opened.
 */
import { batch, computed, signal } from "@preact/signals";
import type { Connection, Trace, TraceOptions, TraceRow, TracedRequest, Transaction } from "lanewise";
import { connection } from "../state/lab.ts";
import { inWords } from "../state/problems.ts";
import * as store from "../state/store.ts";
import { startSimulator } from "../simulator/client.ts";
import { type Order, type Path, busiest, isOf, ordered, pathWith, peersOf, pathsOf, requestOf } from "./model.ts";

/** Rows that the page asks for; the core keeps the last ones. */
export const MOST_ROWS = 10_000;
/** How long a request is looked for from its issue on, before it is said that it is not complete. */
const LOOKED_FOR = "2 ms";

/** Where the window is. */
export type Place = "start" | "worst-latency" | "first-blocked" | "replay" | "stall";

export const place = signal<Place>("start");
export const start = signal("0 us");
export const length = signal("5 us");
/** Name of a link; all when empty. */
export const link = signal("");
export const kinds = signal<string[]>(["tlp", "dllp", "skp", "flit", "blocked", "error"]);

/** What is shown; null before the first. */
export const trace = signal<Trace | null>(null);
/** The text that it is of. */
const tracedText = signal("");
/** It is at work: on a trace, or on a file. */
export const isBusy = signal(false);
/** What went wrong with the last one. */
export const failure = signal<string | null>(null);
/** The scenario has changed since. */
export const isStale = computed(() => trace.value !== null && tracedText.value !== store.text.value);

export const order = signal<Order>("time");
/** Place of the packet that is looked at among the rows. */
export const chosen = signal<number | null>(null);
/** Name of the way that is drawn, if one was chosen. */
const chosenPath = signal<string | null>(null);

/** The request of the chosen packet: its stations, or why there are none; null while it is looked for. */
export type Story = { kind: "found"; transaction: Transaction } | { kind: "none"; reason: string };
const stories = signal<ReadonlyMap<string, Story>>(new Map());

export const rows = computed<TraceRow[]>(() => trace.value?.rows ?? []);
export const chosenRow = computed<TraceRow | null>(() => (chosen.value === null ? null : (rows.value[chosen.value] ?? null)));
export const listed = computed<number[]>(() => ordered(rows.value, order.value));
const trees = computed<Path[]>(() => pathsOf(trace.value?.directions ?? []));
/** The way of the chosen request, where it goes from one device to another below a switch. */
const peers = computed<Path | null>(() => peersOf(trees.value, relatives.value.flatMap((index) => rows.value[index] ?? [])));
export const paths = computed<Path[]>(() => (peers.value ? [...trees.value, peers.value] : trees.value));
export const path = computed<Path | undefined>(() => {
  return paths.value.find((each) => each.name === chosenPath.value) ?? busiest(paths.value, rows.value);
});
export const request = computed<TracedRequest | null>(() => chosenRow.value && requestOf(chosenRow.value));
export const story = computed<Story | null>(() => (request.value ? (stories.value.get(keyOf(request.value)) ?? null) : null));
/** TLPs of the same request. */
export const relatives = computed<number[]>(() => {
  const whose = request.value;
  return whose ? rows.value.flatMap((row, index) => (isOf(row, whose) ? [index] : [])) : [];
});

/** Time without a question after which its simulator is ended, ms: a server has room for a few. */
const PATIENCE = 60_000;

let own: Promise<Connection> | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
/** Grows with each thing that is asked, and when all is stopped. */
let turn = 0;

/** What is asked of the core, without what is kept. */
function asked(): TraceOptions {
  const links = link.value === "" ? {} : { links: [link.value] };
  const window = { start: start.value.trim(), span: length.value.trim(), kinds: kinds.value, ...links };
  const around = place.value === "start" ? {} : { around: place.value };
  return { path: store.fileName.value, ...window, ...around };
}

/** Traces the scenario as it is now. */
export async function look(): Promise<void> {
  const text = store.text.value;
  await atWork(async (simulator, isCurrent) => {
    const answer = await simulator.trace(text, { ...asked(), last: MOST_ROWS });
    if (isCurrent()) show(answer, text);
  });
}

/** Another place of the window, at once. */
export function lookAt(where: Place): void {
  place.value = where;
  void look();
}

/** Ends what is at work. What is shown stays. */
export function stop(): void {
  turn++;
  end();
  isBusy.value = false;
}

function end(): void {
  void own?.then((simulator) => simulator.stop()).catch(() => undefined);
  own = null;
}

/** A row that is looked at: its request is looked up. */
export function choose(index: number | null): void {
  batch(() => {
    chosen.value = index;
    const row = chosenRow.value;
    const best = row && (peers.value ?? pathWith(trees.value, row));
    // The way that is drawn stays where it shows as much.
    const shows = (one: Path | null | undefined): number => (row && one ? Number(one.links.includes(row.link)) + Number(one.stations.includes(row.requester ?? "")) + Number(one === peers.value) : 0);
    const isShown = shows(path.value) >= shows(best);
    if (best && !isShown) drawPath(best.name);
  });
  void lookUp();
}

/** The way from the host to a device that is drawn. */
export function drawPath(name: string | null): void {
  chosenPath.value = name;
}

/** The trace as a file, as `lanewise trace --format` writes it: of a window all of it. */
export async function save(form: "perfetto" | "jsonl"): Promise<void> {
  const text = store.text.value;
  await atWork(async (simulator, isCurrent) => {
    const { base64 } = await simulator.traceFile(text, { ...asked(), form });
    if (!isCurrent()) return;
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const name = store.fileName.value.replace(/\.toml$/, "");
    handOver(form === "perfetto" ? `${name}.perfetto-trace` : `${name}.trace.jsonl`, bytes);
  });
}

function handOver(name: string, bytes: Uint8Array<ArrayBuffer>): void {
  const url = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function show(answer: Trace, text: string): void {
  batch(() => {
    trace.value = answer;
    tracedText.value = text;
    stories.value = new Map();
    chosenPath.value = null;
    chosen.value = null;
  });
  choose(firstOf(answer));
}

/** What was looked for, among the rows; else nothing is chosen. */
function firstOf({ around, rows }: Trace): number | null {
  if (!around || around.at_ns === null) return null;
  const { what, at_ns, request } = around;
  const last = (is: (row: TraceRow) => boolean): number => rows.findLastIndex(is);
  const found =
    what === "worst-latency"
      ? last((row) => request !== null && isOf(row, request))
      : what === "stall"
        ? last((row) => row.kind === "tlp")
        : rows.findIndex((row) => row.at_ns === at_ns && row.kind === (what === "replay" ? "error" : "blocked"));
  return found < 0 ? null : found;
}

/** Asks for the times at stations of the request of the chosen packet, once. */
async function lookUp(): Promise<void> {
  const whose = request.value;
  if (!whose || isBusy.value || stories.value.has(keyOf(whose))) return;
  const [key, mine, text] = [keyOf(whose), turn, tracedText.value];
  const put = (story: Story): void => {
    if (turn === mine) stories.value = new Map([...stories.value, [key, story]]);
  };
  try {
    const simulator = await connected();
    const found = await simulator.trace(text, { path: store.fileName.value, request: whose, span: LOOKED_FOR, last: 50_000 });
    if (found.transaction) put({ kind: "found", transaction: found.transaction });
    else put({ kind: "none", reason: `It belongs to no flow, or is not complete within ${LOOKED_FOR} of its issue.` });
  } catch (error) {
    put({ kind: "none", reason: inWords(error) });
  }
}

function keyOf({ requester, issued_at_ticks, tag, address }: TracedRequest): string {
  return [requester, issued_at_ticks, tag ?? address].join(" ");
}

async function atWork(work: (simulator: Connection, isCurrent: () => boolean) => Promise<void>): Promise<void> {
  if (isBusy.value) stop();
  const mine = ++turn;
  batch(() => {
    isBusy.value = true;
    failure.value = null;
  });
  try {
    await work(await connected(), () => mine === turn);
  } catch (error) {
    if (mine === turn) failure.value = inWords(error);
  } finally {
    if (mine === turn) isBusy.value = false;
  }
  // What was chosen while it was at work.
  if (mine === turn) void lookUp();
}

/** The simulator of its own; that of the page where there is no room for another, as a server may say. */
async function connected(): Promise<Connection> {
  const started = (own ??= startSimulator(() => {
    if (own === started) own = null;
  }));
  clearTimeout(timer);
  timer = setTimeout(() => !isBusy.value && end(), PATIENCE);
  try {
    return await started;
  } catch (error) {
    if (own === started) own = null;
    const shared = connection();
    if (!shared) throw error;
    return shared;
  }
}
