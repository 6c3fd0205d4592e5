/**
 * Python in a worker: the package of the command line, which reads files of machines, with the core of this page behind
 * `lanewise._core`.
 *
 * The worker gets all its files in its first message, and can ask no network for anything: what Pyodide fetches are those files.
 */
import { type Lanewise, LanewiseError, load } from "lanewise";
import type { loadPyodide as LoadPyodide, PyodideInterface } from "pyodide";
import type { PyProxy } from "pyodide/ffi";
import type { FromWorker, ToWorker } from "./protocol.ts";
import type { PythonFiles } from "./python-files.ts";

/** Scripts that run before Pyodide is there, in their order. */
const SCRIPTS = ["pyodide.js", "pyodide.asm.js"];
/** Where Pyodide believes its files are. The name is one that never exists (RFC 2606). */
const NOWHERE = "https://python.invalid/";
const PACKAGE = "/lanewise";

interface Examination {
  scan(names: PyProxy, contents: PyProxy): string;
  about(verb: string, progress: (text: string) => void): string;
}

declare const self: Window & { importScripts(...addresses: string[]): void; loadPyodide: typeof LoadPyodide };

let python: PyodideInterface | undefined;
let examination: Examination | undefined;

const tell = (message: FromWorker): void => self.postMessage(message);

self.addEventListener("message", ({ data }: MessageEvent<ToWorker>) => {
  void answer(data).catch((error: unknown) => tell({ kind: "fault", message: lastLine(error) }));
});

async function answer(asked: ToWorker): Promise<void> {
  if (asked.kind === "start") {
    await start(asked.module, asked.files);
    return tell({ kind: "ready" });
  }
  if (!python || !examination) throw new Error("Python was not started");
  if (asked.kind === "about") {
    const progress = (text: string): void => tell({ kind: "progress", id: asked.id, text });
    return tell({ kind: "answer", id: asked.id, text: examination.about(asked.verb, progress) });
  }
  const names = python.toPy(asked.given.map(({ name }) => name)) as PyProxy;
  const contents = python.toPy(asked.given.map(({ bytes }) => bytes)) as PyProxy;
  tell({ kind: "answer", id: asked.id, text: examination.scan(names, contents) });
  // Python keeps them until it is told that they are not used here any more.
  names.destroy();
  contents.destroy();
}

async function start(module: WebAssembly.Module, files: PythonFiles): Promise<void> {
  answerFetchesFrom(files);
  for (const name of SCRIPTS) {
    const address = URL.createObjectURL(new Blob([file(files, name)], { type: "text/javascript" }));
    self.importScripts(address);
    URL.revokeObjectURL(address);
  }
  const lanewise = await load(module);
  python = await self.loadPyodide({
    indexURL: NOWHERE,
    packageBaseUrl: NOWHERE,
    lockFileContents: new TextDecoder().decode(file(files, "pyodide-lock.json")),
    // What Python prints is in the console.
    stdout: (line) => console.info(line),
    stderr: (line) => console.info(line),
  });
  python.registerJsModule("lanewise_simulator", { ask: (verb: string, request: string) => asked(lanewise, verb, request) });
  python.unpackArchive(file(files, "lanewise.zip"), "zip", { extractDir: PACKAGE });
  python.runPython(`import sys; sys.path.insert(0, "${PACKAGE}")`);
  examination = python.runPython("from lanewise.page.examine import Examination\nExamination()") as Examination;
  // Pyodide is there: nothing else is to be loaded.
  for (const name of ["importScripts", "Worker"]) takeAway(name);
}

/** What the core answers; its fault is an answer, too, so that Python says where it was. */
function asked(lanewise: Lanewise, verb: string, request: string): string {
  try {
    return lanewise.ask(verb, request === "" ? undefined : request);
  } catch (error) {
    if (error instanceof LanewiseError) return JSON.stringify(error.document);
    throw error;
  }
}

/** From now on this worker fetches these files, and nothing else. */
function answerFetchesFrom(files: PythonFiles): void {
  for (const name of ["fetch", "XMLHttpRequest", "WebSocket", "EventSource", "WebTransport", "caches"]) takeAway(name);
  self.fetch = (input) => {
    const address = input instanceof Request ? input.url : String(input);
    const content = address.startsWith(NOWHERE) ? files[address.slice(NOWHERE.length)] : undefined;
    if (!content) return Promise.reject(new TypeError(`${address} is not part of this page`));
    const type = address.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
    return Promise.resolve(new Response(content, { headers: { "content-type": type } }));
  };
}

/** From the worker, and from what it inherits. */
function takeAway(name: string): void {
  for (let owner: object | null = self; owner; owner = Reflect.getPrototypeOf(owner)) Reflect.deleteProperty(owner, name);
}

function file(files: PythonFiles, name: string): ArrayBuffer {
  const content = files[name];
  if (!content) throw new Error(`the page has no ${name}`);
  return content;
}

/** Of a traceback, the line that says what happened. */
function lastLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.trim().split("\n").at(-1) ?? text;
}
