// Reads calls from standard input, [[verb, scenario, options], ...] as JSON, and writes what one instance answers to each. Of
// "session", `calls` in the options are made one after the other; what each answers is in a list.
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { LanewiseError, load } from "../../crates/wasm/js/lanewise.js";

const lanewise = await load(await readFile(process.env.LANEWISE_WASM));

function inPieces(scenario, { calls, ...options }) {
  const session = lanewise.session(scenario, options);
  return calls.map(([verb, ...given]) => session[verb](...given));
}

const answers = JSON.parse(await text(process.stdin)).map(([verb, scenario, options]) => {
  try {
    return verb === "session" ? inPieces(scenario, options) : lanewise[verb](scenario, options);
  } catch (error) {
    if (error instanceof LanewiseError) return error.document;
    throw error;
  }
});
process.stdout.write(JSON.stringify(answers));
