/**
 * The trace on the page: what was asked for, what came, and which packet is looked at.
 *
 * It has a simulator of its own, so that a long trace can be stopped and holds nothing else up. A trace is of the text as it is, from the start of a run;
 * it is asked for by a press of a button, and once when the tab is first opened. Of the packets that are chosen one after the other only the last is
 * looked up: one look-up is under way, and its simulator is replaced where another packet has taken the place of what it looks for.
 */
import { batch, computed, signal } from "@preact/signals";
import type { Connection, Trace, TraceOptions, TraceRow, TracedRequest, Transaction } from "lanewise";
import { connection } from "../state/lab.ts";
import { inWords } from "../state/problems.ts";
import { keepInLinks } from "../state/sharing.ts";
import * as store from "../state/store.ts";
import { startSimulator } from "../simulator/client.ts";
import { type Order, type Path, busiest, isOf, ordered, pathWith, peersOf, pathsOf, requestOf } from "./model.ts";
import { type Place, USUAL, isSame, linksOf, readWindow } from "./window.ts";

/** Rows that the page asks for; the core keeps the last ones. */
export const MOST_ROWS = 10_000;
/** How long a request is looked for from its issue on, before it is said that it is not complete. */
const LOOKED_FOR = "2 ms";

export const place = signal<Place>(USUAL.place);
export const start = signal(USUAL.start);
export const length = signal(USUAL.length);
/** Name of a link as it was chosen; all when empty. */
const chosenLink = signal(USUAL.link);
export const kinds = signal<string[]>(USUAL.kinds);

/** Names of the links that there are. */
export const links = computed<string[]>(() => (store.rig.value ? linksOf(store.rig.value.roots) : []));
/** The link that is traced: all, which is empty, where this scenario has none of the chosen name. */
export const link = computed(() => (links.value.includes(chosenLink.value) ? chosenLink.value : ""));

keepInLinks("packets", {
  save() {
    const now = { place: place.value, start: start.value, length: length.value, link: chosenLink.value, kinds: kinds.value };
    return isSame(now, USUAL) ? undefined : now;
  },
  read(saved) {
    const read = readWindow(saved);
    return () => {
      [place.value, start.value, length.value, kinds.value] = [read.place, read.start, read.length, read.kinds];
      chosenLink.value = read.link;
    };
  },
});

export function chooseLink(name: string): void {
  chosenLink.value = name;
}

/** What is shown; null before the first. */
export const trace = signal<Trace | null>(null);
/** The text that it is of. */
const tracedText = signal("");
/** It is at work: on a trace, or on a file. */
export const isTracing = signal(false);
/** The request that is looked up, or is as soon as the choice rests, as `keyOf` writes it. */
const lookedUp = signal<string | null>(null);
/** There is something to stop. */
export const isBusy = computed(() => isTracing.value || lookedUp.value !== null);
/** What went wrong with the last one. */
export const failure = signal<string | null>(null);
/** The scenario has changed since. */
export const isStale = computed(() => trace.value !== null && tracedText.value !== store.text.value);

export const order = signal<Order>("time");
/** Place of the packet that is looked at among the rows. */
export const chosen = signal<number | null>(null);
/** Name of the way that is drawn, if one was chosen. */
const chosenPath = signal<string | null>(null);

/** The request of the chosen packet: its stations, or why there are none. */
export type Story = { kind: "found"; transaction: Transaction } | { kind: "none"; reason: string } | { kind: "stopped" };
const stories = signal<ReadonlyMap<string, Story>>(new Map());
/** Stop was pressed since something was last asked for. */
const wasStopped = signal(false);

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
/** Null while it is looked for. */
export const story = computed<Story | null>(() => {
  if (!request.value) return null;
  const found = stories.value.get(keyOf(request.value));
  return found ?? (wasStopped.value && !isBusy.value ? { kind: "stopped" } : null);
});
/** TLPs of the same request. */
export const relatives = computed<number[]>(() => {
  const whose = request.value;
  return whose ? rows.value.flatMap((row, index) => (isOf(row, whose) ? [index] : [])) : [];
});

/** Time without a question after which its simulator is ended, ms: a server has room for a few. */
const PATIENCE = 60_000;
/** So long a packet is chosen before its request is looked up, ms: a held key goes past many. */
const REST = 120;

let own: Promise<Connection> | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
let resting: ReturnType<typeof setTimeout> | undefined;
/** A look-up, and the simulator of its own that is at work on it: none where that of the page is. */
interface LookUp {
  key: string;
  simulator: Promise<Connection> | null;
}
let underWay: LookUp | null = null;
/** Grows with each thing that is asked, and when all is stopped. */
let turn = 0;

/** What is asked of the core, without what is kept. */
function asked(): TraceOptions {
  const one = link.value === "" ? {} : { links: [link.value] };
  const window = { start: start.value.trim(), span: length.value.trim(), kinds: kinds.value, ...one };
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
  batch(() => {
    endWork();
    wasStopped.value = true;
  });
}

function endWork(): void {
  turn++;
  end();
  clearTimeout(resting);
  underWay = null;
  batch(() => {
    isTracing.value = false;
    lookedUp.value = null;
  });
}

function end(): void {
  clearTimeout(timer);
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
  lookUp();
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

/** Has the request of the chosen packet looked up, once the choice rests. */
export function lookUp(): void {
  clearTimeout(resting);
  const whose = request.value;
  const key = whose && keyOf(whose);
  const isWanted = whose !== null && key !== null && !isTracing.value && !stories.value.has(key);
  batch(() => {
    wasStopped.value = false;
    lookedUp.value = isWanted ? key : (underWay?.key ?? null);
  });
  if (isWanted && underWay?.key !== key) resting = setTimeout(() => void lookUpNow(whose, key), REST);
}

/** Asks for the times at stations of a request. */
async function lookUpNow(whose: TracedRequest, key: string): Promise<void> {
  // One that is superseded: its simulator is replaced. That of the page cannot be; what is chosen when it answers is looked up then.
  if (underWay?.simulator) {
    end();
    underWay = null;
  }
  if (underWay) return;
  const mine: LookUp = { key, simulator: null };
  underWay = mine;
  const text = tracedText.value;
  let story: Story;
  try {
    const started = connected();
    mine.simulator = own;
    const simulator = await started;
    // None of its own could be had.
    if (!own) mine.simulator = null;
    if (underWay !== mine) return;
    const found = await simulator.trace(text, { path: store.fileName.value, request: whose, span: LOOKED_FOR, last: 50_000 });
    if (found.transaction) story = { kind: "found", transaction: found.transaction };
    else story = { kind: "none", reason: `It belongs to no flow, or is not complete within ${LOOKED_FOR} of its issue.` };
  } catch (error) {
    story = { kind: "none", reason: inWords(error) };
  }
  // Superseded or stopped meanwhile.
  if (underWay !== mine) return;
  underWay = null;
  batch(() => {
    stories.value = new Map([...stories.value, [key, story]]);
    lookUp();
  });
  endLater();
}

function keyOf({ requester, issued_at_ticks, tag, address }: TracedRequest): string {
  return [requester, issued_at_ticks, tag ?? address].join(" ");
}

async function atWork(work: (simulator: Connection, isCurrent: () => boolean) => Promise<void>): Promise<void> {
  const mine = turn + 1;
  batch(() => {
    if (isBusy.value) endWork();
    turn = mine;
    isTracing.value = true;
    wasStopped.value = false;
    failure.value = null;
  });
  try {
    await work(await connected(), () => mine === turn);
  } catch (error) {
    // What the core calls the span and the start of a trace is Length and From in the form.
    if (mine === turn) failure.value = inWords(error).replace(/^span is/, "Length is").replace(/^start is/, "From is");
  } finally {
    if (mine === turn) isTracing.value = false;
  }
  if (mine !== turn) return;
  endLater();
  // What was chosen while it was at work.
  lookUp();
}

/** The simulator of its own; that of the page where there is no room for another, as a server may say. */
async function connected(): Promise<Connection> {
  const started = (own ??= startSimulator(() => {
    if (own === started) own = null;
  }));
  clearTimeout(timer);
  try {
    return await started;
  } catch (error) {
    if (own === started) own = null;
    const shared = connection();
    if (!shared) throw error;
    return shared;
  }
}

/** Ends the simulator of its own when nothing is asked of it for long. */
function endLater(): void {
  clearTimeout(timer);
  timer = setTimeout(() => !isBusy.value && end(), PATIENCE);
}
