/**
 * The simulator's side: answers the calls that `connect` of the loader sends.
 *
 * The first message is the compiled module, since a worker that was started from a file has no address to fetch one from.
 * After a fault another instance takes over; the sessions of the one before are lost.
 */
import { type Lanewise, LanewiseError, load } from "lanewise";
import type { Call } from "./protocol.ts";

let module: WebAssembly.Module | undefined;
let instance: Promise<Lanewise> | undefined;

self.addEventListener("message", ({ data }: MessageEvent<WebAssembly.Module | Call>) => {
  if (data instanceof WebAssembly.Module) {
    module = data;
    instance = load(module);
    return;
  }
  void answered(data).then((message) => self.postMessage(message));
});

async function answered({ id, verb, given }: Call): Promise<object> {
  try {
    if (!instance) throw new Error("the worker has no module yet");
    let lanewise = await instance;
    if (lanewise.discarded) {
      instance = lanewise.renewed();
      lanewise = await instance;
    }
    return { id, answer: called(lanewise, verb, given) };
  } catch (error) {
    const mistake = { code: "internal", message: `${error}`, path: null, line: null, column: null, hint: null };
    return { id, failure: error instanceof LanewiseError ? error.document : { format: 1, status: 3, errors: [mistake] } };
  }
}

function called(lanewise: Lanewise, verb: string, given: unknown[]): unknown {
  if (verb === "version") return lanewise.version;
  const method: unknown = Reflect.get(lanewise, verb);
  if (typeof method !== "function") throw new Error(`there is no call ${verb}`);
  return method.apply(lanewise, given);
}
