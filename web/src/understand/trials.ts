/** What was tried: other texts and other values, each simulated once, apart from the run on the page. */
import { computed, effect, signal } from "@preact/signals";
import type { LimitedBy, Results } from "lanewise";
import { editAndRun } from "../state/lab.ts";
import { inWords, mistakesOf } from "../state/problems.ts";
import { GivenUp } from "../simulator/pool.ts";
import { simulators } from "../simulator/simulators.ts";
import * as store from "../state/store.ts";
import { isTooLong } from "../toml/limit.ts";
import type { Candidate } from "./assumptions.ts";
import { type Measured, digest } from "./measure.ts";
import { withSettings } from "./take-over.ts";

/** What became of a trial. */
export type Trial =
  | { kind: "waits" }
  | { kind: "done"; measured: Measured }
  /** The core does not build it; in its words. */
  | { kind: "refused"; reason: string };

type Settings = LimitedBy["edits"][number]["settings"];
type Overrides = [path: string, value: string][];

/** Simulators of their own, so that the run on the page goes on; more are of little use for a handful of trials. */
const others = simulators(2);
/** By what was simulated. */
const trials = signal<ReadonlyMap<string, Trial>>(new Map());
/** Trials that are remembered. */
const MOST = 200;

/** The last text that the core has read, with mistakes or without. */
const readText = signal("");
effect(() => {
  void [store.explained.value, store.mistakes.value];
  readText.value = store.text.peek();
});

/** It is known whether the text can be simulated, and whether that is another machine. */
export const isRead = computed(() => readText.value === store.text.value);

/** Results on the page that are of the text as it is: what trials are measured against. */
export const base = computed<Results | null>(() => {
  const done = store.resultsOfText.value;
  // A run that was changed on its way is of no one text.
  const isOfText = !store.isOutdated.value && store.mistakes.value.length === 0 && !done?.changes?.length;
  return isOfText ? done : null;
});

export const isTrying = computed(() => [...trials.value.values()].some((trial) => trial.kind === "waits"));

/** Texts with settings that were made of the text as it is: each is read once for all places that show it. */
const made = computed(() => ({ text: store.text.value, of: new Map<string, string | null>() }));

/** The scenario's text with settings; null when they cannot be written into it. */
export function textWith(settings: Settings): string | null {
  const { text, of } = made.value;
  if (isTooLong(text)) return null;
  const key = JSON.stringify(settings);
  const known = of.get(key);
  if (known !== undefined) return known;
  const found = withSettings(text, settings);
  of.set(key, found);
  return found;
}

/** What became of settings that were tried: as an edit of the text where they can be one, so that what is tried is what is taken over. */
export function trialOf(settings: Settings): Trial | null {
  return trials.value.get(keyOf(...requestOf(settings))) ?? null;
}

export function attempt(settings: Settings): void {
  void simulate(...requestOf(settings));
}

/** Makes settings an edit of the text, and runs it. */
export function takeOver(settings: Settings): void {
  const text = textWith(settings);
  if (text !== null) editAndRun(text);
}

/** What became of a value that is varied. */
export function variedTo(candidate: Candidate, value: string): Trial | null {
  return trials.value.get(keyOf(store.text.value, overridesOf(candidate, value))) ?? null;
}

export function vary(candidate: Candidate): void {
  for (const value of [candidate.lower, candidate.higher]) {
    if (value !== candidate.value) void simulate(store.text.value, overridesOf(candidate, value));
  }
}

export function stopTrying(): void {
  others.stop();
  forget((trial) => trial.kind === "waits");
}

function requestOf(settings: Settings): [text: string, overrides: Overrides] {
  const text = textWith(settings);
  return text === null ? [store.text.value, settings.map(({ path, after }) => [path, after])] : [text, []];
}

function overridesOf({ paths }: Candidate, value: string): Overrides {
  return paths.map((path) => [path, value]);
}

function keyOf(text: string, overrides: Overrides): string {
  return JSON.stringify([store.fileName.value, text, overrides]);
}

async function simulate(text: string, overrides: Overrides): Promise<void> {
  const key = keyOf(text, overrides);
  const path = store.fileName.value;
  const known = trials.peek().get(key);
  if (known && known.kind !== "refused") return;
  remember(key, { kind: "waits" });
  try {
    remember(key, { kind: "done", measured: digest(await others.do((simulator) => simulator.run(text, { path, overrides }))) });
  } catch (error) {
    if (error instanceof GivenUp) return;
    remember(key, { kind: "refused", reason: mistakesOf(error) ? inWords(error) : `It cannot be simulated: ${inWords(error)}` });
  }
}

function remember(key: string, trial: Trial): void {
  const all = [...trials.peek().entries()].filter(([other]) => other !== key);
  trials.value = new Map([...all.slice(-MOST), [key, trial]]);
}

function forget(which: (trial: Trial) => boolean): void {
  trials.value = new Map([...trials.peek().entries()].filter(([, trial]) => !which(trial)));
}
