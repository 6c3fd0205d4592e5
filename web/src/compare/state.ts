/**
 * Two variants: A is kept, B is the text in the editor. Both are resolved and simulated whole, in workers of their own, whatever the run
 * beside them is at.
 */
import { batch, computed, effect, signal } from "@preact/signals";
import type { Explain, Results } from "lanewise";
import { type Headline, headlineOf } from "../rig/headline.ts";
import { type Rig, rigOf } from "../rig/topology.ts";
import { GivenUp, type Work } from "../simulator/pool.ts";
import { simulators } from "../simulator/simulators.ts";
import { edit } from "../state/editing.ts";
import { SMALL, open } from "../state/lab.ts";
import { inWords, mistakesOf } from "../state/problems.ts";
import { keepInLinks } from "../state/sharing.ts";
import * as store from "../state/store.ts";
import { readToml } from "../toml/edit.ts";
import { isTable } from "../toml/plain.ts";

export interface Scenario {
  text: string;
  name: string;
}

/** A scenario, as far as it has come. */
export interface Side extends Scenario {
  stage: "read" | "waits" | "run" | "done" | "failed";
  explained: Explain | null;
  rig: Rig | null;
  results: Results | null;
  /** Why it failed: what the core says of it. */
  words: string;
}

/** A side that has all. */
export type Whole = Side & { explained: Explain; rig: Rig; results: Results };

export const TAB = "compare";
/** After the last key that was pressed, ms. */
const PAUSE_BEFORE_READING = 150;
/** Scenarios whose results are kept: who undoes an edit sees its results at once. */
const MOST_KEPT = 8;

/** The scenario that is kept as A. */
export const keptA = signal<Scenario | null>(null);
const sides = signal<ReadonlyMap<string, Side>>(new Map());
/** The last B that was whole: it is shown, dimmed, while another one is not. */
const lastB = signal<Whole | null>(null);

export const sideA = computed<Side | null>(() => (keptA.value && sides.value.get(keyOf(keptA.value))) ?? null);
export const sideB = computed<Side | null>(() => sides.value.get(keyOf(editor.value)) ?? null);
/** What is shown beside A. */
export const shownB = computed<Whole | null>(() => (isWhole(sideB.value) ? sideB.value : lastB.value));

const editor = computed<Scenario>(() => ({ text: store.text.value, name: store.fileName.value }));
const pool = simulators(2);

export function isWhole(side: Side | null): side is Whole {
  return side?.stage === "done" && side.results !== null;
}

/** The one number of a side. */
export function answerOf({ results }: Whole): Headline {
  return headlineOf(results);
}

/** Keeps what is in the editor as A. */
export function keepAsA(): void {
  keptA.value = editor.value;
}

export function chooseA(scenario: Scenario): void {
  keptA.value = scenario;
}

export function forgetA(): void {
  batch(() => {
    keptA.value = null;
    lastB.value = null;
  });
}

/** A goes into the editor, and what was there becomes A. Undo in the editor gives back its text. */
export function swap(): void {
  const a = keptA.value;
  if (!a) return;
  batch(() => {
    keptA.value = editor.value;
    open(a.text, a.name);
  });
}

/** Puts the text of A into the editor, as an edit that can be undone. */
export function takeBack(): void {
  if (keptA.value) edit({ from: 0, to: store.text.value.length, insert: keptA.value.text });
}

/** Simulates what is too large to be simulated by itself, or what was given up or failed. */
export async function simulate(side: Side): Promise<void> {
  if (side.explained) return run(side);
  keep(null, keyOf(side));
  await resolve(side);
}

/** Gives up what is under way. */
export function giveUp(): void {
  pool.stop();
}

/** Follows A and the text while the tab is shown. */
export function startComparing(): void {
  keepInLinks(TAB, { save: () => keptA.value ?? undefined, read });
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    if (store.tab.value === TAB && keptA.value) void resolve(keptA.value);
  });
  effect(() => {
    clearTimeout(timer);
    const scenario = editor.value;
    if (store.tab.value === TAB && keptA.value) timer = setTimeout(() => void resolve(scenario), PAUSE_BEFORE_READING);
  });
  effect(() => {
    if (isWhole(sideB.value)) lastB.value = sideB.value;
  });
}

function read(saved: unknown): (() => void) | null {
  if (saved === undefined) return forgetA;
  if (!isTable(saved) || typeof saved["text"] !== "string" || typeof saved["name"] !== "string") return null;
  const [text, name] = [saved["text"], saved["name"]];
  return () => (keptA.value = { text, name });
}

async function resolve(scenario: Scenario): Promise<void> {
  if (sides.peek().has(keyOf(scenario))) return;
  const side: Side = { ...scenario, stage: "read", explained: null, rig: null, results: null, words: "" };
  keep(side);
  try {
    const explained = await ifWanted(side, (simulator) => simulator.explain(side.text, { path: side.name }), true);
    const rig = rigOf(explained, readToml(side.text) ?? {});
    const resolved: Side = { ...side, stage: "waits", explained, rig };
    keep(resolved);
    if (store.runsByItself.peek() && rig.count <= SMALL) await run(resolved);
  } catch (error) {
    failed(side, error);
  }
}

async function run(side: Side): Promise<void> {
  keep({ ...side, stage: "run" });
  try {
    const results = await ifWanted(side, (simulator) => simulator.run(side.text, { path: side.name }));
    keep({ ...side, stage: "done", results });
  } catch (error) {
    failed(side, error);
  }
}

/** Has work done for a side; given up where nobody looks at it any more when a simulator is free for it. */
function ifWanted<T>(side: Side, work: Work<T>, isNext = false): Promise<T> {
  return pool.do((simulator) => (isWanted(side) ? work(simulator) : Promise.reject(new GivenUp("the text is another one"))), isNext);
}

/** It is what is compared now: A, or what is in the editor. */
function isWanted(side: Side): boolean {
  return [editor.peek(), keptA.peek()].some((each) => each !== null && keyOf(each) === keyOf(side));
}

function failed(side: Side, error: unknown): void {
  if (error instanceof GivenUp && !isWanted(side)) keep(null, keyOf(side));
  else if (error instanceof GivenUp && side.explained) keep({ ...side, stage: "waits" });
  else if (error instanceof GivenUp) keep({ ...side, stage: "failed", words: "It was stopped." });
  else keep({ ...side, stage: "failed", words: mistakesOf(error) ? inWords(error) : `The simulator failed: ${inWords(error)}` });
}

function keep(side: Side | null, key = side ? keyOf(side) : ""): void {
  const next = new Map(sides.peek());
  next.delete(key);
  if (side) next.set(key, side);
  const wanted = [keyOf(editor.peek()), keptA.peek() ? keyOf(keptA.peek() as Scenario) : ""];
  const old = [...next.keys()].filter((each) => !wanted.includes(each));
  for (const each of old.slice(0, Math.max(0, next.size - MOST_KEPT))) next.delete(each);
  sides.value = next;
}

function keyOf({ text, name }: Scenario): string {
  return `${name}\n${text}`;
}
