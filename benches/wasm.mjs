// Runs benchmarks of a module as benches/wasm.py asks, [name, overrides] a line, and says what processor time each took.
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { load } from "../crates/wasm/js/lanewise.js";

const lanewise = await load(await readFile(process.argv[2]));
for await (const line of createInterface({ input: process.stdin })) {
  const [name, overrides] = JSON.parse(line);
  const scenario = lanewise.benchmark(name);
  const before = process.cpuUsage();
  const { fingerprint, events } = lanewise.run(scenario, { overrides });
  const { user, system } = process.cpuUsage(before);
  console.log(JSON.stringify({ scenario, fingerprint, events, seconds: (user + system) / 1e6 }));
}
