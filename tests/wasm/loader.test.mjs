// The loader: what it takes, what it throws, and what is left after a fault.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { connect, LanewiseError, load } from "../../crates/wasm/js/lanewise.js";

const MODULE = process.env.LANEWISE_WASM;
const RIG = `
[host.server]
slots = { slot1 = "gen3 x8" }
[endpoint.nic]
attach = "server.slot1"
generation = "gen3"
width = "x8"
[[workload]]
kind = "dma"
device = "nic"
direction = "write"
`;

test("the module imports nothing, and exports its memory and its calls", async () => {
  const module = await WebAssembly.compile(await readFile(MODULE));
  assert.deepEqual(WebAssembly.Module.imports(module), []);
  const names = WebAssembly.Module.exports(module).map((each) => each.name);
  for (const name of ["memory", "lanewise_alloc", "lanewise_free", "lanewise_run", "lanewise_fault"]) {
    assert.ok(names.includes(name), `${name} of ${names}`);
  }
});

test("every way to give the module loads it", async () => {
  const bytes = await readFile(MODULE);
  const typed = new Response(bytes, { headers: { "content-type": "application/wasm" } });
  const given = [pathToFileURL(MODULE), bytes, new Response(bytes), typed, await WebAssembly.compile(bytes)];
  const versions = await Promise.all(given.map(async (source) => (await load(source)).version));
  assert.deepEqual(new Set(versions).size, 1);
  assert.match(versions[0], /^\d+\.\d+\.\d+$/);
  await assert.rejects(load(new Response("", { status: 404, statusText: "Not Found" })), /404 Not Found/);
});

test("a mistake is thrown with its place, and the next call is answered", async () => {
  const lanewise = await load(await readFile(MODULE));
  const wrong = RIG.replace('"x8"', '"x5"');
  assert.throws(
    () => lanewise.run(wrong, { path: "rig.toml" }),
    (error) => {
      assert.ok(error instanceof LanewiseError);
      assert.equal(error.status, 2);
      assert.equal(error.discard, false);
      assert.deepEqual([error.errors[0].line, error.errors[0].path], [7, "rig.toml"]);
      assert.match(error.message, /rig\.toml:7/);
      return true;
    },
  );
  assert.equal(lanewise.run(RIG).end_reason, "Converged");
});

test("options are overrides, a name and parts; others are refused", async () => {
  const lanewise = await load(await readFile(MODULE));
  const slow = lanewise.run(RIG, { path: "ü.toml", overrides: [["nic.generation", "gen1"]] });
  assert.equal(slow.scenario_path, "ü.toml");
  assert.ok(slow.flows[0].goodput_gb_per_s < 2);
  assert.throws(() => lanewise.run(RIG, { seed: 2 }), /unknown field `seed`/);
  assert.ok(lanewise.parts().parts.length > 10);
  assert.ok(lanewise.scenarioSchema().$schema);
  assert.deepEqual(lanewise.check(RIG).errors, []);
});

test("answers are given back: memory does not grow with calls", async () => {
  const module = await WebAssembly.compile(await readFile(MODULE));
  const { exports } = await WebAssembly.instantiate(module, {});
  const once = () => {
    const place = exports.lanewise_parts();
    exports.lanewise_free(Number(BigInt.asUintN(32, place)));
  };
  for (let i = 0; i < 5; i++) once();
  const before = exports.memory.buffer.byteLength;
  for (let i = 0; i < 50; i++) once();
  assert.equal(exports.memory.buffer.byteLength, before);
});

test("an address that was never handed out does no harm", async () => {
  const module = await WebAssembly.compile(await readFile(MODULE));
  const { exports } = await WebAssembly.instantiate(module, {});
  exports.lanewise_free(12345);
  const place = exports.lanewise_run(12345);
  const [address, length] = [Number(BigInt.asUintN(32, place)), Number(place >> 32n)];
  const answer = JSON.parse(new TextDecoder().decode(new Uint8Array(exports.memory.buffer, address, length)));
  assert.equal(answer.errors[0].code, "wrong-input");
});

test("a panic is told as a JSON error, and nothing is answered after it", async () => {
  const module = await WebAssembly.compile(await readFile(MODULE));
  const { exports } = await WebAssembly.instantiate(module, {});
  assert.equal(exports.lanewise_fault(), 0n);
  // More than any text may have: room for it is a panic.
  assert.throws(() => exports.lanewise_alloc(0xffffffff), WebAssembly.RuntimeError);
  const place = exports.lanewise_fault();
  const [address, length] = [Number(BigInt.asUintN(32, place)), Number(place >> 32n)];
  const fault = JSON.parse(new TextDecoder().decode(new Uint8Array(exports.memory.buffer, address, length)));
  assert.deepEqual([fault.status, fault.discard, fault.errors[0].code], [3, true, "internal"]);
  assert.match(fault.errors[0].message, /capacity overflow/);
  assert.throws(() => exports.lanewise_version(), WebAssembly.RuntimeError);
  assert.equal(exports.lanewise_fault(), place);
});

test("after a trap the instance is of no use, and another one is", async () => {
  const lanewise = await load(await readFile(MODULE));
  // A text that is longer than all of memory.
  const encode = TextEncoder.prototype.encode;
  TextEncoder.prototype.encode = () => ({ length: 0xffffffff });
  try {
    assert.throws(() => lanewise.run(RIG), (error) => error.status === 3 && error.discard);
  } finally {
    TextEncoder.prototype.encode = encode;
  }
  assert.ok(lanewise.discarded);
  assert.throws(() => lanewise.check(RIG), /answers nothing any more/);
  assert.equal((await lanewise.renewed()).run(RIG).end_reason, "Converged");
});

test("a session in pieces is the run in one piece", async () => {
  const lanewise = await load(await readFile(MODULE));
  const whole = lanewise.run(RIG, { path: "rig.toml" });
  const session = lanewise.session(RIG, { path: "rig.toml", ends_when_narrow: true });
  let [steps, last] = [0, session.step({ span: "1 us" })];
  while (!last.over) {
    last = session.step(steps % 2 ? { events: 1 + (steps % 41) } : { span: `${1 + (steps % 4)} us` });
    if (steps % 5 === 0) assert.equal(session.state().time_s, last.now_s);
    steps += 1;
  }
  assert.ok(steps > 20, `${steps} steps`);
  assert.equal(last.fingerprint, whole.fingerprint);
  assert.deepEqual(session.results(), whole);
  session.close();
  assert.throws(() => session.state(), /there is no session/);
});

test("a session is changed while it goes on, and says what it refuses", async () => {
  const lanewise = await load(await readFile(MODULE));
  const reads = RIG.replace('"write"', '"read"') + "outstanding = 1\nsize = \"4 KiB\"\n";
  const [plain, changed] = [lanewise.session(reads), lanewise.session(reads)];
  for (const session of [plain, changed]) session.step({ span: "100 us" });
  assert.equal(plain.state().trajectory, changed.state().trajectory);
  assert.equal(changed.change("server.memory_latency", "5 us").changed[0].path, "server.memory_latency");
  for (const session of [plain, changed]) session.step({ span: "100 us" });
  const [before, after] = [plain, changed].map((session) => session.state().flows[0].last.goodput_gb_per_s);
  assert.ok(after < before / 3, `${after} of ${before} GB/s`);
  assert.throws(() => changed.change("server.memory_latenci", "5 us"), LanewiseError);
  assert.throws(() => changed.step({ span: "5" }), /a time with its unit/);
  assert.throws(() => lanewise.session(reads, { ends_when_narrow: 1 }), /not true or false/);
});

/** A worker of Node with the names that one of a page has. */
function pageWorker() {
  const started = `
    import { parentPort } from "node:worker_threads";
    import { readFile } from "node:fs/promises";
    const bytes = await readFile(${JSON.stringify(MODULE)});
    globalThis.fetch = async () => new Response(bytes, { headers: { "content-type": "application/wasm" } });
    globalThis.self = globalThis;
    globalThis.postMessage = (data) => parentPort.postMessage(data);
    globalThis.addEventListener = (kind, hear) => parentPort.on(kind, (data) => hear({ data }));
    const read = URL.prototype.__lookupGetter__("protocol");
    Object.defineProperty(URL.prototype, "protocol", {
      get() { return this.href.endsWith(".wasm") ? "https:" : read.call(this); },
    });
    await import(${JSON.stringify(new URL("../../crates/wasm/js/worker.js", import.meta.url).href)});
  `;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(started)}`));
  return {
    addEventListener: (kind, hear) =>
      worker.on(kind, (data) => hear(kind === "message" ? { data } : { message: data.message })),
    postMessage: (data) => worker.postMessage(data),
    terminate: () => worker.terminate(),
  };
}

test("a worker makes the calls, in any number at a time, and is stopped with the run under way", async () => {
  const lanewise = connect(pageWorker());
  const [version, ran, checked] = await Promise.all([
    lanewise.version(),
    lanewise.run(RIG, { path: "rig.toml" }),
    lanewise.check(RIG),
  ]);
  assert.equal(ran.lanewise_version, version);
  assert.equal(ran.fingerprint, (await load(await readFile(MODULE))).run(RIG).fingerprint);
  assert.deepEqual(checked.errors, []);
  await assert.rejects(lanewise.run("[host"), (error) => error instanceof LanewiseError && error.status === 2);
  const session = await lanewise.session(RIG, { path: "rig.toml", ends_when_narrow: true });
  while (!(await session.step({ events: 1000 })).over);
  assert.deepEqual(await session.results(), ran);
  const endless = lanewise.run(RIG, {
    overrides: [
      ["run.time_limit", "100 s"],
      ["run.relative_half_width", "0.00001"],
    ],
  });
  lanewise.stop();
  await assert.rejects(endless, /the worker was stopped/);
});
