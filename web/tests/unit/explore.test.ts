/** What an exploration is made of: values to try, the grid, colours, and the table that goes out. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Explain, Results } from "lanewise";
import { compared } from "../../src/compare/comparison.ts";
import { basisOf, textWith } from "../../src/explore/basis.ts";
import { csvOf } from "../../src/explore/csv.ts";
import { countOf, keyOf, pointAt, pointsOf } from "../../src/explore/grid.ts";
import { headlineOf } from "../../src/rig/headline.ts";
import { TOTAL, digestOf, isMetric, metricsOf, titleOf, valueOf } from "../../src/explore/metrics.ts";
import { type PointRow, isEarly, kneesOf, limitersOf, saidOf, timeLeft } from "../../src/explore/points.ts";
import { kindOfUnit, quantityOf, written } from "../../src/explore/quantity.ts";
import { inWords, kindOf, listOf, nearest, rangeOf, spread, valuesAround, valuesOf } from "../../src/explore/ranges.ts";
import { colourAt, contrast, inkOn, luminance, scaleOf } from "../../src/explore/scale.ts";
import { readSettings } from "../../src/explore/settings.ts";
import { readToml } from "../../src/toml/edit.ts";
import { keysOf } from "../../src/toml/place.ts";
import { type Table, at } from "../../src/toml/plain.ts";
import { type Meaning, meaningOf } from "../../src/toml/schema.ts";

const ROOT = join(import.meta.dirname, "../../..");
const RIG = "scenarios/oversubscribed.toml";
const TEXT = readFileSync(join(ROOT, RIG), "utf8");
const SCHEMA = JSON.parse(readFileSync(join(ROOT, "schema/scenario.schema.json"), "utf8")) as Table;
const WRITTEN = readToml(TEXT) as Table;

function lanewise<T>(...given: string[]): T {
  return JSON.parse(execFileSync(join(ROOT, ".venv/bin/lanewise"), [...given, "--json"], { encoding: "utf8", maxBuffer: 1e9, cwd: ROOT })) as T;
}

function meaning(path: string): Meaning | null {
  const keys = keysOf(path, WRITTEN);
  const kind = keys?.[0] === "workload" ? String(at(WRITTEN, [...keys.slice(0, 2), "kind"])) : null;
  return keys && meaningOf(SCHEMA, keys, kind);
}

test("amounts are read and written in their units", () => {
  assert.deepEqual(quantityOf("4 KiB"), { amount: 4096, unit: "KiB" });
  assert.deepEqual(quantityOf("2.5 us"), { amount: 2.5e6, unit: "us" });
  assert.equal(quantityOf("1_000")?.amount, 1000);
  assert.equal(quantityOf("63.015384616 GB/s")?.amount, 63015384616);
  for (const other of ["auto", "gen4 x8", "4 KiB 60 %, 64 KiB 40 %", "[]", "-1", ""]) assert.equal(quantityOf(other), null, other);
  assert.equal(written(8192, "B"), "8 KiB");
  assert.equal(written(8193, "KiB"), "8193 B");
  assert.equal(written(112_500, "ns"), "112.5 ns");
  assert.equal(written(1e9 / 3, "GB/s"), "0.3333 GB/s");
});

test("bits and bytes are what the core takes them for", () => {
  for (const text of ["160 Gb/s", "160 Gib/s", "160000 Mb/s", "20 GB/s", "1 TB/s", "8 Tib/s"]) {
    const { parameters } = lanewise<Explain>("explain", RIG, "--set", `server.memory_bandwidth=${text}`);
    const meant = quantityOf(parameters.find(({ path }) => path === "server.memory_bandwidth")?.value ?? "");
    assert.ok(meant && Math.abs((quantityOf(text)?.amount ?? 0) / meant.amount - 1) < 1e-9, text);
  }
  assert.deepEqual(spread({ from: "20 GB/s", to: "320 Gb/s", steps: 3, spacing: "even" }, false), ["20 GB/s", "30 GB/s", "40 GB/s"]);
  assert.deepEqual(["KiB", "Kib"].map(kindOfUnit), ["bytes", "Kib"], "the core refuses sizes in bits");
});

test("values to try follow the kind and the value in force", () => {
  const around = (path: string, value: string): string => valuesAround(value, meaning(path)).join(" ");
  assert.equal(around("workload.write.outstanding", "8"), "1 2 4 8 16 32 64");
  assert.equal(around("workload.write.outstanding", "10"), "3 5 8 10 13 15 18");
  assert.equal(around("workload.write.size", "64 KiB"), "8 KiB 16 KiB 32 KiB 64 KiB 128 KiB 256 KiB 512 KiB");
  assert.equal(around("server.mps_supported", "512 B"), "128 B 256 B 512 B 1024 B 2048 B 4096 B");
  assert.equal(around("server.memory_latency", "450 ns"), "112.5 ns 225 ns 337.5 ns 450 ns 562.5 ns 675 ns 787.5 ns");
  assert.equal(around("nvme.generation", "gen4"), "gen1 gen2 gen3 gen4 gen5 gen6 gen7");
  assert.equal(around("nvme.width", "x4"), "x1 x2 x4 x8 x12 x16 x32");
  assert.equal(around("nvme.relaxed_ordering", "false"), "true false");
  assert.equal(around("sw0.forwarding", "cut-through").split(" ").length, 2);
  assert.equal(around("nvme.credits.completion_data", "infinite"), "2 4 8 16 32 64 128 infinite");
  assert.equal(around("nvme.link.bit_error_rate_upstream", "0"), "0 1e-9 1e-8 1e-7 0.000001 0.00001 0.0001");
  assert.equal(valuesAround("gen4 x16", null).join(), "gen4 x1,gen4 x2,gen4 x4,gen4 x8,gen4 x16");
  assert.equal(around("workload.write.target", "memory"), "memory");
  assert.match(inWords(kindOf("8", meaning("workload.write.outstanding"))), /a count/);
  assert.match(inWords(kindOf("0.005", null)), /a number/);
});

test("what is tried is what the core takes", () => {
  const { parameters } = lanewise<Explain>("explain", RIG);
  const parts = ["workload.write.size", "workload.write.outstanding", "server.memory_latency", "nvme.width", "server.slots.slot1.link", "nvme.tag_width", "sw0.forwarding"];
  const sets = parts.flatMap((path) => {
    const value = parameters.find((each) => each.path === path)?.value ?? "";
    return ["--set", `${path}=${valuesAround(value, meaning(path))[1]}`];
  });
  const after = lanewise<Explain>("explain", RIG, ...sets);
  for (const path of parts) {
    const [before, now] = [parameters, after.parameters].map((all) => all.find((each) => each.path === path)?.value);
    assert.ok(now !== undefined && (now !== before || path === "nvme.tag_width" || path === "sw0.forwarding"), path);
  }
});

test("ranges are spread by steps or factors, and read off values again", () => {
  assert.deepEqual(spread({ from: "64 B", to: "4 KiB", steps: 7, spacing: "factor" }, true), ["64 B", "128 B", "256 B", "512 B", "1 KiB", "2 KiB", "4 KiB"]);
  assert.deepEqual(spread({ from: "100 ns", to: "1 us", steps: 4, spacing: "even" }, false), ["100 ns", "400 ns", "700 ns", "1000 ns"]);
  assert.deepEqual(spread({ from: "1", to: "3", steps: 5, spacing: "even" }, true), ["1", "2", "3"]);
  assert.equal(spread({ from: "1", to: "3 ns", steps: 5, spacing: "even" }, false), null);
  assert.equal(spread({ from: "0 ns", to: "3 ns", steps: 5, spacing: "factor" }, false), null);
  assert.equal(spread({ from: "1", to: "3", steps: 1000, spacing: "even" }, false), null);
  assert.deepEqual(rangeOf(["1", "2", "4", "8"]), { from: "1", to: "8", steps: 4, spacing: "factor" });
  assert.deepEqual(rangeOf(["10 ns", "20 ns", "30 ns"]), { from: "10 ns", to: "30 ns", steps: 3, spacing: "even" });
  assert.equal(rangeOf(["1", "5", "6"])?.spacing, "listed");
  assert.equal(rangeOf(["auto", "2"]), null);
  assert.deepEqual([nearest(["1", "8", "64"], "8"), nearest(["512 B", "4 KiB"], "3 KiB"), nearest(["a", "b"], "c"), nearest(["a"], undefined)], [1, 1, 0, 0]);
  assert.deepEqual(valuesOf(" 1, 2 ,,2, 3"), ["1", "2", "3"]);
  const mixed = ["4 KiB 60 %, 64 KiB 40 %", "4 KiB"];
  assert.deepEqual(valuesOf(listOf(mixed)), mixed);
  assert.deepEqual(valuesOf(listOf([mixed[0] as string])), [mixed[0]]);
});

const AXES = [
  { path: "a", values: ["1", "2", "3"] },
  { path: "b", values: ["x", "y"] },
];

test("a grid has every value of one with every value of the other", () => {
  const points = pointsOf(AXES);
  assert.equal(points.length, countOf(AXES));
  assert.deepEqual(points.map((each) => each.at.join("")), ["00", "10", "20", "01", "11", "21"]);
  assert.deepEqual(points[4]?.overrides, [["a", "2"], ["b", "y"]]);
  assert.equal(new Set(points.map((each) => keyOf(each.overrides))).size, 6);
  assert.equal(keyOf([["a", "1"], ["b", "x"]]), keyOf([["b", "x"], ["a", "1"]]));
  assert.deepEqual(pointAt(AXES, [1, 1]), points[4]);
  assert.equal(pointAt(AXES, [1, 2]), null);
  assert.deepEqual([countOf([]), pointsOf([]).length], [0, 0]);
});

test("the scale grows lighter all the way, and what is written on it can be read", () => {
  const steps = Array.from({ length: 101 }, (_, index) => colourAt(index / 100));
  for (const [index, colour] of steps.entries()) {
    if (index > 0) assert.ok(luminance(colour) > luminance(steps[index - 1] as (typeof steps)[number]), `at ${index} %`);
    const ink = inkOn(colour) === "#000" ? 0 : 1;
    assert.ok(contrast(luminance(colour), ink) >= 4.5, `contrast at ${index} %`);
  }
  const scale = scaleOf([4, 2, 3]);
  assert.deepEqual([scale?.least, scale?.most, scale?.part(3)], [2, 4, 0.5]);
  assert.equal(scaleOf([7, 7])?.part(7), 0.5);
  assert.equal(scaleOf([]), null);
});

const results = lanewise<Results>("run", RIG);
const digest = digestOf(results);
const other = digestOf(lanewise<Results>("run", RIG, "--set", "nvme.link.force_width=x1"));

test("what is kept of results has every number that can be looked at", () => {
  assert.equal(digest.fingerprint, results.fingerprint);
  assert.ok(Math.abs((valueOf(TOTAL, digest) ?? 0) - results.flows.reduce((sum, flow) => sum + flow.goodput_gb_per_s, 0)) < 1e-12);
  const metrics = metricsOf(digest);
  assert.equal(metrics.length, 2 + 8 * 6 + 9 * 2);
  assert.ok(metrics.every(isMetric));
  assert.equal(valueOf({ quantity: "use", of: "sw0, upstream" }, digest), results.links[0]?.upstream.utilisation);
  assert.equal(valueOf({ quantity: "latency-p99", of: "write nvme[3], write" }, digest), results.flows[3]?.latency_ns.p99);
  assert.equal(valueOf({ quantity: "operation-mean", of: "write nvme[3], write" }, digest), results.flows[3]?.operation_latency_ns?.mean);
  assert.equal(valueOf({ quantity: "goodput", of: "nobody" }, digest), null);
  assert.ok(JSON.stringify(digest).length < JSON.stringify(results).length / 10);
});

test("what one device reads and another writes is in the total once", () => {
  const joined = lanewise<Results>("run", "scenarios/rdma_write.toml");
  const written = joined.flows.find(({ device, direction }) => device === "nic1" && direction === "write");
  assert.ok(written && written.goodput_gb_per_s > 12);
  assert.equal(valueOf(TOTAL, digestOf(joined)), written.goodput_gb_per_s);
  assert.deepEqual(headlineOf(joined), { rate: written.goodput_gb_per_s, of: "of payload, all flows" });
  assert.equal(titleOf(TOTAL), "Payload: all flows");
});

test("what finished nothing has no latency", () => {
  const none = structuredClone(results);
  for (const flow of none.flows) flow.latency_ns = { ...flow.latency_ns, count: 0, mean: 0, p99: null };
  assert.equal(valueOf({ quantity: "latency-mean", of: "write nvme[3], write" }, digestOf(none)), null);
  const sides = compared(results, none).flows.map((row) => [row.a_latency_ns_mean, row.b_latency_ns_mean]);
  assert.deepEqual(sides, results.flows.map((flow) => [flow.latency_ns.mean, null]));
});

test("names that every object has are neither units nor links nor flows", () => {
  for (const name of ["constructor", "toString", "hasOwnProperty", "valueOf"]) {
    assert.equal(kindOfUnit(name), name);
    assert.deepEqual(quantityOf(`4 ${name}`), { amount: 4, unit: name });
    assert.equal(written(4, name), `4 ${name}`);
    assert.equal(valueOf({ quantity: "use", of: name }, digest), null);
  }
});

const rows: PointRow[] = [digest, digest, null, other].map((each, index) => ({
  point: { at: [index], overrides: [["p", String(index)]] },
  found: each ? { state: "done", digest: each } : { state: "failed", words: 'not "good", at all', isWorthAnother: false },
}));

test("the knee is where the limiter changes, over points that have none", () => {
  assert.deepEqual(kneesOf(rows), [{ after: 1, from: "sw0.upstream", to: "nvme[0].upstream" }]);
  assert.deepEqual(limitersOf(rows).map(({ letter, name, count }) => [letter, name, count]), [["A", "sw0.upstream", 2], ["B", "nvme[0].upstream", 1]]);
  assert.deepEqual(kneesOf(rows.slice(0, 3)), []);
  assert.deepEqual([timeLeft(0, 10, 3), timeLeft(5, 10, 3), timeLeft(10, 10, 3)], [null, 3, 0]);
});

test("a run that ended early or got stuck says so", () => {
  assert.equal(saidOf(digest), `${results.limited_by?.sentence}.`);
  const short = digestOf(lanewise<Results>("run", RIG, "--set", "run.time_limit=2 us"));
  assert.ok(isEarly(short));
  assert.match(saidOf(short), /The run ended as TimeLimit, so its numbers may not be those of a steady state/);
  assert.match(saidOf({ ...digest, limit: null }), /^Nothing was found to limit it\.$/);
});

test("a table for other programs has every point, and quotes what needs it", () => {
  const axes = [{ path: "p", values: ["0", "1", "2", "3", "4"] }];
  const text = csvOf(axes, { quantity: "use", of: "sw0, upstream" }, [...rows, { point: { at: [4], overrides: [["p", "4"]] }, found: null }]);
  const lines = text.split("\r\n");
  assert.equal(lines.length, 7);
  assert.equal(lines[0], 'p,state,"utilisation of sw0, upstream",goodput_gb_per_s,operations_per_s,limited_by,end_reason,fingerprint,message');
  assert.equal(lines[1], `0,done,${digest.uses["sw0, upstream"]},${digest.goodput},${digest.operations},sw0.upstream,Converged,${digest.fingerprint},`);
  assert.equal(lines[3], '2,failed,,,,,,,"not ""good"", at all"');
  assert.equal(lines[5], "4,not computed,,,,,,,");
});

const isBare = (_: unknown, now: unknown): boolean => typeof now === "number";

test("a point goes into the text, and the text without the parameters stays what it was", () => {
  const axes = [{ path: "workload.write.outstanding", values: ["1"] }, { path: "server.memory_latency", values: ["1 us"] }];
  const next = textWith(TEXT, [["workload.write.outstanding", "1"], ["server.memory_latency", "1 us"]], isBare) ?? "";
  assert.match(next, /outstanding = 1\b/);
  assert.match(next, /memory_latency = "1 us"/);
  assert.equal(basisOf(next, axes), basisOf(TEXT, axes));
  assert.notEqual(basisOf(TEXT.replace("64 KiB", "4 KiB"), axes), basisOf(TEXT, axes));
  const slots = '[host.server]\nslots = { slot1 = "gen4 x4" }\n';
  assert.equal(textWith(slots, [["server.slots.slot1.link", "gen3 x4"]], isBare), slots.replace("gen4", "gen3"));
  const credits = textWith(slots, [["server.slots.slot1.credits.posted_data", "64"]], () => true) ?? "";
  assert.equal(credits, '[host.server]\nslots = { slot1 = { link = "gen4 x4", credits.posted_data = 64 } }\n');
  const axis = [{ path: "server.slots.slot1.credits.posted_data", values: ["1"] }];
  assert.equal(basisOf(credits, axis), basisOf(slots, axis));
  assert.equal(textWith(slots, [["nobody.tags", "3"]], isBare), null);
});

test("what links say of an exploration is looked at before it is taken over", () => {
  const saved = { axes: AXES, metric: TOTAL, at: [2, 1] };
  assert.deepEqual(readSettings({ ...saved, more: 1 }), saved);
  assert.deepEqual(readSettings({ axes: [], metric: TOTAL, at: [] }), { axes: [], metric: TOTAL, at: [] });
  assert.equal(readSettings({ ...saved, axes: [AXES[0], { path: AXES[0]?.path, values: ["x", "y"] }] }), null, "one parameter twice");
  for (const wrong of [
    null,
    {},
    { ...saved, at: [3, 1] },
    { ...saved, at: [1] },
    { ...saved, at: [0.5, 0] },
    { ...saved, metric: { quantity: "toString", of: "" } },
    { ...saved, axes: [AXES[0], AXES[1], AXES[0]] },
    { ...saved, axes: [{ path: "a", values: [] }], at: [0] },
    { ...saved, axes: [{ path: "a", values: [7] }], at: [0] },
    { ...saved, axes: [{ path: "a", values: ["x".repeat(1000)] }], at: [0] },
  ]) {
    assert.equal(readSettings(wrong), null, JSON.stringify(wrong)?.slice(0, 80));
  }
});

test("the use of a link that CXL.mem fills is that of its flits", () => {
  const { uses } = digestOf(lanewise<Results>("run", join(ROOT, "scenarios/cxl_memory.toml")));
  assert.ok((uses["cxl0, upstream"] ?? 0) > 0.99 && (uses["cxl0, downstream"] ?? 0) > 0.5);
});
