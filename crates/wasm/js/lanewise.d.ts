// What documents hold is generated into documents.d.ts; docs/reference/json.md says what the keys mean.
import type { EndReason, Explain, Mistake, Parts, Remark, Run as Results, State, Trace, TracedRequest } from "./documents";
export type * from "./documents";
export type { Run as Results } from "./documents";

/** How to take a scenario. */
export interface Options {
  /** What messages and results call it; `<text>` by itself. */
  path?: string;
  /** Pairs of a path, as `explain` names it, and a value with its unit: `["card0.mps", "128 B"]`. */
  overrides?: [string, string][];
  /** Parts besides those of the catalog, or in their place: by name, the text of a file as in `catalog/`. */
  parts?: Record<string, string>;
}

/** What `check` finds. */
export interface Checked {
  format: 1;
  /** Empty when the scenario can be run. */
  errors: Mistake[];
  /** The same as text, with the lines in question. */
  report: string;
  remarks: Remark[];
}

/** What of a run is traced; times with their unit. */
export interface TraceOptions extends Options {
  /** From then on, after the start of the run; "0 ns" by itself. */
  start?: string;
  /** For so long, "5 us" by itself; around something, from so long before. */
  span?: string;
  /** Names of links; all by itself. */
  links?: string[];
  /** `tlp`, `dllp`, `skp`, `flit`, `blocked`, `queued` and `error`; all but `queued` by itself. */
  kinds?: string[];
  /** The last so many rows are kept, at most 50,000. A file of a window has them all. */
  last?: number;
  around?: "worst-latency" | "stall" | "replay" | "first-blocked";
  /** `worst-latency`, or a number from 1 on: its time at each station, and its own rows. */
  transaction?: string;
  /** The request that a row is of, by what the row says: the same of it. It is looked for from its issue on, for `span`. */
  request?: TracedRequest;
}

/** A trace as a file. */
export interface TraceFile {
  format: 1;
  form: "perfetto" | "jsonl";
  /** Rows that it has. */
  rows: number;
  fingerprint: string;
  /** Its bytes. */
  base64: string;
}

/** How far a session has come. */
export interface Step {
  format: 1;
  /** The run is over; `end_reason` says why. */
  over: boolean;
  now_s: number;
  events: number;
  end_reason: EndReason | null;
  fingerprint: string;
}

/** How a session begins. */
export interface SessionOptions extends Options {
  /** Ends when its results are narrow enough, as a run does; by itself it goes on to its limits. */
  ends_when_narrow?: boolean;
}

/** A scenario at work: of an instance, whose calls return at once, or of a worker, whose calls return promises. */
export interface Session<Now extends boolean = true> {
  /** Goes on for a span such as "250 us", for so many events at most, or to its end. */
  step(step?: { span?: string; events?: number }): Now extends true ? Step : Promise<Step>;
  state(): Now extends true ? State : Promise<State>;
  results(): Now extends true ? Results : Promise<Results>;
  /** Changes a parameter from now on; what may change is in `docs/reference/live.md`. */
  change(path: string, value: string): Now extends true ? Changed : Promise<Changed>;
  /** Frees what the session takes. */
  close(): Now extends true ? object : Promise<object>;
}

/** What became another value. */
export interface Changed {
  format: 1;
  changed: { path: string; before: string; after: string }[];
}

/** What went wrong, thrown by every call. */
export class LanewiseError extends Error {
  /** 2: the input is wrong. 3: the fault is Lanewise's. */
  readonly status: 2 | 3;
  readonly errors: Mistake[];
  /** The instance answers nothing any more; `renewed` gives another. */
  readonly discard: boolean;
  readonly document: object;
}

/** An instance of the module. Its calls block. */
export class Lanewise {
  private constructor();
  readonly version: string;
  /** Whether a fault has made this instance useless. */
  readonly discarded: boolean;
  /** Another instance of the same module. */
  renewed(): Promise<Lanewise>;
  run(scenario: string, options?: Options): Results;
  explain(scenario: string, options?: Options): Explain;
  check(scenario: string, options?: Options): Checked;
  trace(scenario: string, options?: TraceOptions): Trace;
  traceFile(scenario: string, options: TraceOptions & { form: "perfetto" | "jsonl" }): TraceFile;
  parts(): Parts;
  scenarioSchema(): Record<string, unknown>;
  session(scenario: string, options?: SessionOptions): Session;
  /** The scenario of a benchmark of `lanewise bench`: `chain`, `mixed`, `tree512` or `tree4096`. */
  benchmark(name: string): string;
  /** What a verb of `crates/wasm/src/asked.rs` answers, as text: for a host that reads JSON itself. */
  ask(verb: string, request?: string): string;
}

/** The same in a worker: calls return promises. */
export interface Connection {
  version(): Promise<string>;
  run(scenario: string, options?: Options): Promise<Results>;
  explain(scenario: string, options?: Options): Promise<Explain>;
  check(scenario: string, options?: Options): Promise<Checked>;
  trace(scenario: string, options?: TraceOptions): Promise<Trace>;
  traceFile(scenario: string, options: TraceOptions & { form: "perfetto" | "jsonl" }): Promise<TraceFile>;
  parts(): Promise<Parts>;
  scenarioSchema(): Promise<Record<string, unknown>>;
  session(scenario: string, options?: SessionOptions): Promise<Session<false>>;
  /** Ends the worker, and with it a run that is under way. */
  stop(): void;
}

/** Loads the module: from `lanewise.wasm` beside the loader, or from what is given. */
export function load(source?: string | URL | Response | BufferSource | WebAssembly.Module): Promise<Lanewise>;

/** What `connect` needs of a worker. */
export interface Worked {
  postMessage(message: unknown): void;
  terminate(): void;
  addEventListener(kind: "message", listener: (event: MessageEvent) => void): void;
  addEventListener(kind: "error", listener: (event: ErrorEvent) => void): void;
}

/** Speaks to a worker that runs `worker.js`, or to anything that answers the same messages. */
export function connect(worker: Worked): Connection;
