/** What goes between the page and the worker in which Python runs. */
import type { Doctor, Error as Refusal, Predict, Scan } from "lanewise";
import type { PythonFiles } from "./python-files.ts";

/** A file that was given: its name for messages, and what is in it. */
export interface Given {
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/** What can be asked about a machine that was read, and what answers it. */
export interface Answers {
  draw: { svg: string };
  doctor: Doctor;
  predict: Predict;
  scenario: { scenario: string };
}

/** To the worker: first what it is made of, then questions, one after another. */
export type ToWorker =
  | { kind: "start"; module: WebAssembly.Module; files: PythonFiles }
  | { kind: "scan"; id: number; given: Given[] }
  | { kind: "about"; id: number; verb: keyof Answers };

/**
 * From the worker. An answer is JSON as Python wrote it: what the command line prints with `--json`, or an error in that form. After a
 * `fault` the worker is of no use.
 */
export type FromWorker =
  | { kind: "ready" }
  | { kind: "answer"; id: number; text: string }
  | { kind: "progress"; id: number; text: string }
  | { kind: "fault"; message: string };

/** An answer that says what is wrong, in the place of one. */
export type Answered<T> = T | Refusal;

export type { Doctor, Predict, Refusal, Scan };
