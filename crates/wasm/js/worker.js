// @ts-check
/**
 * What runs in a worker: loads the module, makes the calls that `connect` of `lanewise.js` sends, and takes another instance
 * after a fault.
 *
 *     const lanewise = connect(new Worker(new URL("./worker.js", import.meta.url), { type: "module" }));
 */
import { LanewiseError, load } from "./lanewise.js";

let instance = load();

self.addEventListener("message", async ({ data: { id, verb, given } }) => {
  try {
    let lanewise = /** @type {any} */ (await instance);
    if (lanewise.discarded) {
      instance = lanewise.renewed();
      lanewise = await instance;
    }
    const answer = verb === "version" ? lanewise.version : lanewise[verb](...given);
    self.postMessage({ id, answer });
  } catch (error) {
    const mistake = { code: "internal", message: `${error}`, path: null, line: null, column: null, hint: null };
    const failure = error instanceof LanewiseError ? error.document : { format: 1, status: 3, errors: [mistake] };
    self.postMessage({ id, failure });
  }
});
