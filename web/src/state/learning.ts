/**
 * Which lesson is on the page, what was tried, and what it gave.
 *
 * A lesson is on the page while its file is: to open something else is to leave it. What was tried follows from the text, so that undo
 * takes it back. A lesson runs its texts by itself, whatever the run beside it is at.
 */
import { batch, computed, effect, signal } from "@preact/signals";
import type { Results } from "lanewise";
import { LESSONS, type Lesson, type Try } from "../lessons/lessons.ts";
import { TEXTS } from "../lessons/texts.ts";
import { editOf } from "../lessons/trying.ts";
import { applied } from "../toml/edit.ts";
import { edit } from "./editing.ts";
import { connection, open } from "./lab.ts";
import { inWords } from "./problems.ts";
import * as store from "./store.ts";

/** The lesson on the page. */
export const lesson = computed<Lesson | null>(() => LESSONS.find((each) => each.file === store.fileName.value) ?? null);

/** What the text has of the lesson: its rig as it is, something that was tried, or another edit. */
export type Tried = { kind: "nothing" } | { kind: "try"; tried: Try } | { kind: "other" };
export const tried = computed<Tried>(() => {
  const now = lesson.value;
  if (!now || store.text.value === textOf(now)) return { kind: "nothing" };
  const found = now.tries.find((each) => store.text.value === textWith(now, each));
  return found ? { kind: "try", tried: found } : { kind: "other" };
});

/** Results of the lesson's rig, and of what was tried; null until they are there. */
export const resultsBefore = computed<Results | null>(() => (lesson.value && done.value.get(textOf(lesson.value))) ?? null);
export const resultsAfter = computed<Results | null>(() => (lesson.value && done.value.get(store.text.value)) ?? null);

/** By text. */
const done = signal<ReadonlyMap<string, Results>>(new Map());
const asked = new Set<string>();

/** What was on the page before the first lesson. */
const kept = signal<{ text: string; name: string } | null>(null);

/** Shows a lesson; another one of it keeps what was there before the first. */
export function learn(next: Lesson): void {
  batch(() => {
    if (!lesson.value) kept.value = { text: store.text.value, name: store.fileName.value };
    open(textOf(next), next.file);
  });
}

/** Gives back what was there before. A lesson that came with a link keeps its rig, under a name of its own. */
export function leave(): void {
  batch(() => {
    open(kept.value?.text ?? store.text.value, kept.value?.name ?? "rig.toml");
    kept.value = null;
  });
}

/** Puts an edit into the lesson's rig, or takes the last one out of it. */
export function attempt(next: Try | null): void {
  const now = lesson.value;
  if (!now) return;
  const home = textOf(now);
  if (next && store.text.value === home) edit(editOf(home, next));
  else edit({ from: 0, to: store.text.value.length, insert: next ? textWith(now, next) : home });
}

/** Follows the text while there is a lesson. */
export function startLessons(): void {
  effect(() => {
    const before = kept.value;
    if (!lesson.value) kept.value = null;
    // Undone in the editor to where it was entered: left.
    if (lesson.value && before && store.text.value === before.text) leave();
  });
  effect(() => {
    const now = lesson.value;
    // A simulator that is no more answers nothing that it was asked.
    if (!store.isReady.value) asked.clear();
    if (!now || !store.isReady.value) return;
    void simulate(textOf(now), now.file);
    if (tried.value.kind === "try") void simulate(store.text.value, now.file);
  });
}

async function simulate(text: string, path: string): Promise<void> {
  const simulator = connection();
  if (!simulator || asked.has(text) || done.peek().has(text)) return;
  asked.add(text);
  try {
    const results = await simulator.run(text, { path });
    done.value = new Map([...done.peek(), [text, results]]);
  } catch (error) {
    asked.delete(text);
    store.notice.value = { kind: "fault", text: `The lesson cannot be simulated: ${inWords(error)}` };
  }
}

function textOf(of: Lesson): string {
  return TEXTS[of.file] ?? "";
}

function textWith(of: Lesson, each: Try): string {
  return applied(textOf(of), editOf(textOf(of), each));
}
