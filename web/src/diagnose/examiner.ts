/** What reads machines for the page: Python in a worker of its own, or the server that the page came from. */
import DiagnosisWorker from "./worker.ts?worker&inline";
import { simulatorModule } from "../simulator/module.ts";
import { isServed } from "../simulator/served.ts";
import { ServedExaminer } from "./examiner-served.ts";
import type { Answered, Answers, FromWorker, Given, Scan, ToWorker } from "./protocol.ts";
import { pythonFiles } from "./python-files.ts";

/** What one is told on the way: words, and how much of it is done, 0 to 1, where that is known. */
export type Telling = (words: string, part: number | null) => void;

export interface Examiner {
  /** Reads the files of a machine. */
  scan(given: Given[], telling: Telling): Promise<Answered<Scan>>;
  /** Asks about the machine that was read last. */
  about<V extends keyof Answers>(verb: V, telling: Telling): Promise<Answered<Answers[V]>>;
  /** Ends it, and what it is at. */
  stop(): void;
  /** It has ended, and another one is needed. */
  readonly isOver: boolean;
}

/** Starts one. */
export async function startExaminer(telling: Telling): Promise<Examiner> {
  if (isServed()) return new ServedExaminer();
  telling("Reading Python …", 0);
  const [module, files] = await Promise.all([simulatorModule(), pythonFiles((part) => telling("Reading Python …", part))]);
  telling("Starting Python …", null);
  const worker = new DiagnosisWorker();
  const examiner = new OwnExaminer(worker);
  // What is in the files goes over, and is not copied.
  worker.postMessage({ kind: "start", module, files } satisfies ToWorker, Object.values(files));
  await examiner.ready;
  return examiner;
}

/** One question at a time. */
class OwnExaminer implements Examiner {
  readonly ready: Promise<void>;
  #worker: Worker;
  #asked = 0;
  #waiting: { resolve: (text: string) => void; reject: (error: Error) => void; telling: Telling } | null = null;
  #fault: Error | null = null;

  constructor(worker: Worker) {
    this.#worker = worker;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.ready = promise;
    worker.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => {
      if (data.kind === "ready") return resolve();
      if (data.kind === "fault") return this.#end(data.message, reject);
      if (data.id !== this.#asked) return;
      if (data.kind === "progress") return this.#waiting?.telling(data.text, null);
      this.#waiting?.resolve(data.text);
    });
    worker.addEventListener("error", (event) => this.#end(event.message || "the worker with Python died", reject));
  }

  async scan(given: Given[], telling: Telling): Promise<Answered<Scan>> {
    return JSON.parse(await this.#ask({ kind: "scan", id: ++this.#asked, given }, telling)) as Answered<Scan>;
  }

  async about<V extends keyof Answers>(verb: V, telling: Telling): Promise<Answered<Answers[V]>> {
    return JSON.parse(await this.#ask({ kind: "about", id: ++this.#asked, verb }, telling)) as Answered<Answers[V]>;
  }

  stop(): void {
    this.#end("it was stopped");
  }

  get isOver(): boolean {
    return this.#fault !== null;
  }

  #ask(message: ToWorker, telling: Telling): Promise<string> {
    return new Promise((resolve, reject) => {
      if (this.#fault) return reject(this.#fault);
      this.#waiting = { resolve, reject, telling };
      this.#worker.postMessage(message);
    });
  }

  /** After a fault nothing that it says can be relied on. */
  #end(reason: string, reject?: (error: Error) => void): void {
    this.#fault ??= new Error(reason);
    this.#worker.terminate();
    reject?.(this.#fault);
    this.#waiting?.reject(this.#fault);
  }
}
