// @ts-check
/**
 * Lanewise in a page, in a worker or in Node: loads the WebAssembly module and calls it.
 *
 * A call blocks until it is done, so a page makes it in a worker: `connect` speaks to `worker.js`. Types are in
 * `lanewise.d.ts`; what a result holds, `docs/reference/json.md` says.
 *
 * @typedef {import("./lanewise.js").Options} Options
 * @typedef {import("./lanewise.js").Mistake} Mistake
 */

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What went wrong: each mistake of a scenario, or the one thing that was wrong. */
export class LanewiseError extends Error {
  /** @param {{status: number, errors: Mistake[], report?: string, discard?: boolean}} document */
  constructor(document) {
    super(document.report ?? document.errors.map((each) => each.message).join("\n"));
    this.name = "LanewiseError";
    /** 2: the input is wrong. 3: the fault is Lanewise's. */
    this.status = document.status;
    this.errors = document.errors;
    /** The instance answers nothing any more; `renewed` gives another. */
    this.discard = document.discard ?? false;
    this.document = document;
  }
}

/**
 * Loads the module: from beside this file, or from what is given.
 *
 * @param {string | URL | Response | BufferSource | WebAssembly.Module} [source]
 * @returns {Promise<Lanewise>}
 */
export async function load(source = new URL("./lanewise.wasm", import.meta.url)) {
  const module = await compiled(source);
  return new Lanewise(module, await WebAssembly.instantiate(module, {}));
}

/** An instance of the module. */
export class Lanewise {
  #module;
  #exports;
  #discarded = false;

  /**
   * @param {WebAssembly.Module} module
   * @param {WebAssembly.Instance} instance
   */
  constructor(module, instance) {
    this.#module = module;
    this.#exports = /** @type {any} */ (instance.exports);
  }

  /** Whether a fault has made this instance useless. */
  get discarded() {
    return this.#discarded;
  }

  /** Version of the simulator. */
  get version() {
    return this.#asked("version").lanewise_version;
  }

  /**
   * Another instance of the same module, which knows nothing of this one.
   *
   * @returns {Promise<Lanewise>}
   */
  async renewed() {
    return new Lanewise(this.#module, await WebAssembly.instantiate(this.#module, {}));
  }

  /**
   * Runs a scenario: what `lanewise run --json` prints.
   *
   * @param {string} scenario
   * @param {Options} [options]
   */
  run(scenario, options) {
    return this.#asked("run", { scenario, ...options });
  }

  /**
   * Resolves a scenario: what `lanewise explain --json` prints.
   *
   * @param {string} scenario
   * @param {Options} [options]
   */
  explain(scenario, options) {
    return this.#asked("explain", { scenario, ...options });
  }

  /**
   * The mistakes of a scenario, with lines and columns, and what it states in vain. Mistakes are no exception here.
   *
   * @param {string} scenario
   * @param {Options} [options]
   */
  check(scenario, options) {
    return this.#asked("check", { scenario, ...options });
  }

  /**
   * What goes over the links in a window of a run: what `lanewise trace --json` prints.
   *
   * @param {string} scenario
   * @param {import("./lanewise.js").TraceOptions} [options]
   */
  trace(scenario, options) {
    return this.#asked("trace", { scenario, ...options });
  }

  /**
   * The same as a file: what `lanewise trace --format` writes.
   *
   * @param {string} scenario
   * @param {import("./lanewise.js").TraceOptions & {form: "perfetto" | "jsonl"}} options
   */
  traceFile(scenario, options) {
    return this.#asked("trace", { scenario, ...options });
  }

  /** The catalog: what `lanewise parts --json` prints. */
  parts() {
    return this.#asked("parts");
  }

  /** The JSON Schema of scenario files. */
  scenarioSchema() {
    return this.#asked("scenario_schema");
  }

  /**
   * A run that stops, is looked into, changed, and goes on.
   *
   * @param {string} scenario
   * @param {Options & {ends_when_narrow?: boolean}} [options]
   */
  session(scenario, options) {
    const { session } = this.#asked("session_new", { scenario, ...options });
    return new Session((verb, request) => this.#asked(`session_${verb}`, { session, ...request }));
  }

  /**
   * What `session` of a worker asks for.
   *
   * @param {"new" | "step" | "state" | "results" | "change" | "close"} verb
   * @param {object} request
   */
  ofSession(verb, request) {
    return this.#asked(`session_${verb}`, request);
  }

  /**
   * The scenario of a benchmark of `lanewise bench`.
   *
   * @param {string} name
   * @returns {string}
   */
  benchmark(name) {
    return this.#asked("benchmark", name).scenario;
  }

  /**
   * What a verb of `crates/wasm/src/asked.rs` answers, as the text that it is: for a host that reads JSON itself. What is wrong with
   * the request is such an answer, too; a fault is thrown.
   *
   * @param {string} verb
   * @param {string} [request] JSON, for a verb that takes a request
   * @returns {string}
   */
  ask(verb, request) {
    if (typeof this.#exports[`lanewise_${verb}`] !== "function") throw new TypeError(`there is no verb ${verb}`);
    return this.#answer(verb, request);
  }

  /**
   * @param {string} verb
   * @param {object | string} [request]
   * @returns {any}
   */
  #asked(verb, request) {
    const text = typeof request === "string" || request === undefined ? request : JSON.stringify(request);
    const document = JSON.parse(this.#answer(verb, text));
    if (document.status !== undefined) throw new LanewiseError(document);
    return document;
  }

  /**
   * @param {string} verb
   * @param {string} [request]
   * @returns {string}
   */
  #answer(verb, request) {
    if (this.#discarded) {
      throw new LanewiseError(fault("this instance has met a fault before and answers nothing any more"));
    }
    try {
      const argument = request === undefined ? [] : [this.#written(request)];
      return this.#taken(this.#exports[`lanewise_${verb}`](...argument));
    } catch (trap) {
      this.#discarded = true;
      throw new LanewiseError(this.#explained(trap));
    }
  }

  /** @param {string} text */
  #written(text) {
    const bytes = encoder.encode(text);
    const address = this.#exports.lanewise_alloc(bytes.length) >>> 0;
    new Uint8Array(this.#exports.memory.buffer, address, bytes.length).set(bytes);
    return address;
  }

  /** @param {bigint} place */
  #taken(place) {
    const text = this.#read(place);
    this.#exports.lanewise_free(Number(BigInt.asUintN(32, place)));
    return text;
  }

  /** @param {bigint} place length and address of a text */
  #read(place) {
    const address = Number(BigInt.asUintN(32, place));
    const length = Number(BigInt.asUintN(32, place >> 32n));
    return decoder.decode(new Uint8Array(this.#exports.memory.buffer, address, length));
  }

  /**
   * What a trap was: the words of the panic behind it, or else the trap's own.
   *
   * @param {unknown} trap
   */
  #explained(trap) {
    const place = this.#exports.lanewise_fault();
    if (place !== 0n) return JSON.parse(this.#read(place));
    const mebibytes = this.#exports.memory.buffer.byteLength / 2 ** 20;
    return fault(`${trap}, with ${mebibytes} MiB of memory taken`);
  }
}

/** A scenario at work. In a worker its methods return promises. */
export class Session {
  #ask;

  /** @param {(verb: "step" | "state" | "results" | "change" | "close", request?: object) => any} ask */
  constructor(ask) {
    this.#ask = ask;
  }

  /**
   * Goes on for a span of simulated time, for so many events at most, or to its end.
   *
   * @param {{span?: string, events?: number}} [step]
   */
  step(step) {
    return this.#ask("step", step);
  }

  /** What is there now, and what has happened since the last call. */
  state() {
    return this.#ask("state");
  }

  /** Results so far, as those of `run`. */
  results() {
    return this.#ask("results");
  }

  /**
   * Changes a parameter from now on.
   *
   * @param {string} path
   * @param {string} value
   */
  change(path, value) {
    return this.#ask("change", { path, value });
  }

  /** Frees what the session takes. */
  close() {
    return this.#ask("close");
  }
}

/**
 * Speaks to a worker that runs `worker.js`, or to anything that answers the same messages. Every method of `Lanewise` is there and
 * returns a promise.
 *
 * @param {import("./lanewise.js").Worked} worker
 * @returns {import("./lanewise.js").Connection}
 */
export function connect(worker) {
  /** @type {Map<number, {resolve: (answer: any) => void, reject: (error: Error) => void}>} */
  const waiting = new Map();
  let asked = 0;
  /** @param {(each: {resolve: (answer: any) => void, reject: (error: Error) => void}) => void} end */
  const settle = (end) => {
    waiting.forEach(end);
    waiting.clear();
  };
  worker.addEventListener("message", ({ data }) => {
    const one = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.failure) one?.reject(new LanewiseError(data.failure));
    else one?.resolve(data.answer);
  });
  worker.addEventListener("error", (event) => {
    settle((one) => one.reject(new LanewiseError(fault(event.message))));
  });
  /** @param {string} verb */
  const verb =
    (verb) =>
    /** @param {any[]} given */
    (...given) =>
      new Promise((resolve, reject) => {
        waiting.set(++asked, { resolve, reject });
        worker.postMessage({ id: asked, verb, given });
      });
  const ofSession = verb("ofSession");
  return {
    version: verb("version"),
    run: verb("run"),
    explain: verb("explain"),
    check: verb("check"),
    trace: verb("trace"),
    traceFile: verb("traceFile"),
    parts: verb("parts"),
    scenarioSchema: verb("scenarioSchema"),
    async session(scenario, options) {
      const { session } = await ofSession("new", { scenario, ...options });
      return new Session((verb, request) => ofSession(verb, { session, ...request }));
    },
    stop() {
      worker.terminate();
      settle((one) => one.reject(new LanewiseError(fault("the worker was stopped"))));
    },
  };
}

/** @param {string} message */
function fault(message) {
  const mistake = { code: "internal", message, path: null, line: null, column: null, hint: null };
  return { format: 1, status: 3, errors: [mistake], discard: true };
}

/**
 * @param {string | URL | Response | BufferSource | WebAssembly.Module} source
 * @returns {Promise<WebAssembly.Module>}
 */
async function compiled(source) {
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return WebAssembly.compile(source);
  if (source instanceof Response) return ofResponse(source);
  const url = new URL(source, import.meta.url);
  if (url.protocol !== "file:") return ofResponse(await fetch(url));
  // Node's fetch reads no files.
  const { readFile } = await import("node:fs/promises");
  return WebAssembly.compile(await readFile(url));
}

/** @param {Response} response */
async function ofResponse(response) {
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${response.statusText}`);
  // Streams where the server names the type; many name none for this ending.
  const streams = response.headers.get("content-type")?.startsWith("application/wasm");
  return streams ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}
