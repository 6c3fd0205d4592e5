/**
 * The machine that is looked at, and how far one is with it.
 *
 * A machine takes the place of the one before once it was read; what cannot be read changes nothing but the message.
 */
import { batch, signal } from "@preact/signals";
import { open } from "../state/lab.ts";
import { inWords } from "../state/problems.ts";
import { tab } from "../state/store.ts";
import { type Examiner, startExaminer } from "./examiner.ts";
import { scenarioName } from "./given.ts";
import type { Answered, Answers, Doctor, Given, Predict, Refusal, Scan } from "./protocol.ts";

/** A machine, and what is known of it so far; of what could not be had, why. */
export interface Looked {
  given: Given[];
  scan: Scan;
  svg: string | null;
  doctor: Answered<Doctor> | null;
  predict: Answered<Predict> | null;
}

export const machine = signal<Looked | null>(null);
/** What it is at; null while it is at nothing. */
export const doing = signal<{ words: string; part: number | null } | null>(null);
/** What went wrong. */
export const failure = signal<string | null>(null);
/** How many were looked at to the end, whatever came of it. */
export const ended = signal(0);

let examiner: Examiner | null = null;
/** Grows with each machine, so that what is said of the one before is dropped. */
let turn = 0;

/** Reads a machine, and says all that there is to say of it. */
export async function look(reading: () => Promise<Given[]>): Promise<void> {
  const now = begin();
  let given: Given[];
  try {
    given = await reading();
  } catch (error) {
    // A file that cannot be opened, or is too long.
    return end(now, inWords(error));
  }
  if (now !== turn) return;
  if (given.length === 0) return end(now, null);
  await guarded(now, async () => {
    if (examiner === null || examiner.isOver) examiner = await started(now);
    const scan = await examiner.scan(given, telling(now));
    if (now !== turn) return;
    if (isRefusal(scan)) return end(now, `${inSentences(scan)}${machine.value ? "\nThe machine below is the previous one." : ""}`);
    machine.value = { given, scan, svg: null, doctor: null, predict: null };
    await about(now, "draw", (answer) => ({ svg: isRefusal(answer) ? null : answer.svg }));
    tell(now, "Looking for what is wrong …");
    await about(now, "doctor", (answer) => ({ doctor: answer }));
    tell(now, "Simulating what each device should reach …");
    await about(now, "predict", (answer) => ({ predict: answer }));
    end(now, null);
  });
}

/** Makes a scenario of the machine, puts it into the editor, and shows its rig. What was there can be undone. */
export async function openAsScenario(): Promise<void> {
  const looked = machine.value;
  if (!looked) return;
  const now = begin();
  await guarded(now, async () => {
    // The examiner may be another one by now, which has read nothing.
    if (examiner === null || examiner.isOver) {
      examiner = await started(now);
      await examiner.scan(looked.given, telling(now));
    }
    tell(now, "Writing a scenario …");
    const answer = await examiner.about("scenario", telling(now));
    if (now !== turn) return;
    if (isRefusal(answer)) return end(now, inSentences(answer));
    batch(() => {
      end(now, null);
      open(answer.scenario, scenarioName(looked.given));
      tab.value = "rig";
    });
  });
}

/** Ends what is under way. The next machine starts Python again. */
export function stop(): void {
  turn++;
  examiner?.stop();
  examiner = null;
  doing.value = null;
}

function begin(): number {
  // It answers one question at a time, and what it is at may take long.
  if (doing.value) stop();
  failure.value = null;
  doing.value = { words: "Reading …", part: null };
  return ++turn;
}

async function started(now: number): Promise<Examiner> {
  const one = await startExaminer(telling(now));
  if (now === turn) return one;
  one.stop();
  throw new Error("it was stopped");
}

async function about<V extends keyof Answers>(
  now: number,
  verb: V,
  taken: (answer: Answered<Answers[V]>) => Partial<Looked>,
): Promise<void> {
  if (now !== turn || !examiner) return;
  const answer = await examiner.about(verb, telling(now));
  if (now === turn && machine.value) machine.value = { ...machine.value, ...taken(answer) };
}

/** A fault takes the examiner with it, and nothing else. */
async function guarded(now: number, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (now !== turn) return;
    examiner?.stop();
    examiner = null;
    end(now, `This machine cannot be looked at any further: ${inWords(error)}. What is shown is kept; try again, or ask 'lanewise doctor' on the command line.`);
  }
}

function end(now: number, why: string | null): void {
  if (now !== turn) return;
  batch(() => {
    failure.value = why;
    doing.value = null;
    ended.value++;
  });
}

function telling(now: number): (words: string, part: number | null) => void {
  return (words, part) => {
    if (now === turn) doing.value = { words, part };
  };
}

function tell(now: number, words: string): void {
  telling(now)(words, null);
}

/** Whether an answer says what is wrong instead. */
export function isRefusal<T extends object>(answer: Answered<T>): answer is Refusal {
  return "errors" in answer && "status" in answer;
}

/** What is wrong, and what to do about it. */
export function inSentences(refusal: Refusal): string {
  return refusal.errors.map(({ message, hint }) => [message, hint].filter(Boolean).join("; ")).join("\n");
}
