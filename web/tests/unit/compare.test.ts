/** The comparison of the page against that of the command line, and what is said of it. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import type { Compare, Explain, Results } from "lanewise";
import { compared } from "../../src/compare/comparison.ts";
import { inShort, limiters, movedOf, movedUses } from "../../src/compare/moved.ts";
import { differenceOf } from "../../src/state/difference.ts";

const ROOT = join(import.meta.dirname, "../../..");

function lanewise<T>(...given: string[]): T {
  return JSON.parse(execFileSync(join(ROOT, ".venv/bin/lanewise"), [...given, "--json"], { encoding: "utf8", maxBuffer: 1e9, cwd: ROOT })) as T;
}

const RIG = "scenarios/oversubscribed.toml";
const SETS = ["workload.write.outstanding=1", "nvme.link.force_width=x1"];
const withSets = SETS.flatMap((set) => ["--set", set]);
const a = lanewise<Results>("run", RIG);
const b = lanewise<Results>("run", RIG, ...withSets);

/** Both, number for number. Sums may be added up in another order, which moves the last of sixteen digits. */
function assertSame(ours: unknown, theirs: unknown, place = ""): void {
  if (typeof ours === "number" && typeof theirs === "number") {
    assert.ok(Math.abs(ours - theirs) <= 1e-12 * Math.abs(theirs), `${place}: ${ours}, not ${theirs}`);
  } else if (typeof ours === "object" && ours !== null && typeof theirs === "object" && theirs !== null) {
    assert.deepEqual(Object.keys(ours), Object.keys(theirs), place);
    for (const [key, value] of Object.entries(ours)) assertSame(value, Reflect.get(theirs, key), `${place}.${key}`);
  } else assert.equal(ours, theirs, place);
}

test("a comparison has the numbers of the command line, in their order", () => {
  const { a: _, b: __, format: ___, explained: ____, ...theirs } = lanewise<Compare>("compare", RIG, RIG, ...SETS.flatMap((set) => ["--set-b", set]));
  assert.ok(theirs.time_attribution_changes.length > 20 && theirs.links.length > 8);
  assertSame(compared(a, b), theirs);
});

test("rigs with other flows and links are compared with nothing", () => {
  const other = lanewise<Results>("run", "scenarios/first_rig.toml");
  const { a: _, b: __, format: ___, explained: ____, ...theirs } = lanewise<Compare>("compare", RIG, "scenarios/first_rig.toml");
  assert.deepEqual(theirs.links_only_in_b, ["nvme0"]);
  assertSame(compared(a, other), theirs);
});

test("flows of several devices that have one name are matched by device", () => {
  const ring = lanewise<Results>("run", "scenarios/collective.toml");
  assert.ok(new Set(ring.flows.map((flow) => flow.name + flow.direction)).size < ring.flows.length);
  const { a: _, b: __, format: ___, explained: ____, ...theirs } = lanewise<Compare>("compare", "scenarios/collective.toml", "scenarios/collective.toml");
  assert.equal(theirs.flows.length, ring.flows.length);
  assertSame(compared(ring, ring), theirs);
});

test("what moved most comes first, and what is noise is apart", () => {
  const { moved, still } = movedOf(a, b, compared(a, b));
  assert.ok(moved.length > 5);
  assert.deepEqual(moved.map((row) => row.size), moved.map((row) => row.size).sort((one, other) => other - one));
  assert.ok(still.every((row) => row.size < Math.log(1.005)));
  assert.ok(moved.every((row) => !row.isOnly));
  assert.equal(movedOf(a, a, compared(a, a)).moved.length, 0);
  assert.ok(movedUses(a, b).some((use) => use.name === "server.memory" && (use.a ?? 0) > (use.b ?? 0)));
});

test("flows of several devices that have one name are told apart", () => {
  const ring = lanewise<Results>("run", "scenarios/collective.toml");
  const slower = structuredClone(ring);
  for (const [index, flow] of slower.flows.entries()) flow.goodput_gb_per_s *= 0.5 + index / 100;
  const { moved } = movedOf(ring, slower, compared(ring, slower));
  const names = moved.filter((row) => row.what === "payload" && row.of !== "all flows").map((row) => row.of);
  assert.equal(new Set(names).size, names.length);
  const [first] = ring.flows;
  assert.ok(names.some((name) => name.startsWith(`${first?.name}, ${first?.direction}, ${first?.device}`)), names.join("; "));
  const one = movedOf(a, b, compared(a, b)).moved.filter((row) => row.what === "payload" && row.of !== "all flows");
  assert.ok(one.length > 0 && one.every((row) => a.flows.some((flow) => row.of.startsWith(`${flow.name}, ${flow.direction}`) && !row.of.includes(`, ${flow.device}`))));
});

test("the answers are compared in a sentence", () => {
  const of = "of payload";
  assert.equal(inShort({ rate: 4, of }, { rate: 3, of }), "B gives 25.0 % less than A: 3.00 GB/s in place of 4.00 GB/s.");
  assert.equal(inShort({ rate: 4, of }, { rate: 5, of: "over nic0" }), "B gives 25.0 % more than A: 5.00 GB/s in place of 4.00 GB/s (A: of payload; B: over nic0).");
  assert.equal(inShort({ rate: 4, of }, { rate: 4.01, of }), "Both give 4.00 GB/s, within half a percent.");
  assert.match(inShort({ rate: 0, of }, { rate: 4, of }), /A moves no data/);
  assert.match(inShort({ rate: 4, of }, { rate: 0, of }), /B moves no data/);
});

test("what only one of two runs has comes last", () => {
  const other = lanewise<Results>("run", "scenarios/rdma_write.toml");
  const { moved } = movedOf(a, other, compared(a, other));
  assert.ok(!moved[0]?.isOnly && moved.at(-1)?.isOnly);
  assert.ok(!moved.some((row) => row.of === "perftest0, write" && row.b === "0 ns"), "a flow without operations has no latency");
});

test("the limiter of each is named, and when it is another", () => {
  assert.match(limiters(a, b), /^Limited by the wire above sw0.*\. Now limited by .*nvme/);
  assert.match(limiters(a, a), /^Limited by the wire above sw0.*, in both\.$/);
});

test("what is different are values that were chosen, and those that follow", () => {
  const [before, after] = [lanewise<Explain>("explain", RIG), lanewise<Explain>("explain", RIG, ...withSets)];
  const { values, links, onlyAfter } = differenceOf(before, after);
  const chosen = values.filter((each) => !each.follows);
  assert.deepEqual(chosen.map(({ path, before: was, after: now }) => [path, was, now]), [
    ["nvme.link.force_width", "none", "x1"],
    ["workload.write.outstanding", "8", "1"],
  ]);
  assert.ok(values.some((each) => each.follows && each.path.endsWith("retry_buffer")));
  assert.deepEqual(links[0], { name: "nvme[0]", before: "gen4 x4, MPS 256 B", after: "gen4 x1, MPS 256 B" });
  assert.deepEqual(onlyAfter, []);
  const other = differenceOf(before, lanewise<Explain>("explain", "scenarios/first_rig.toml"));
  assert.ok(other.onlyBefore.some(([owner, count]) => owner === "sw0" && count > 20));
  assert.ok(other.onlyBefore.some(([owner]) => owner === "sw0.ports.port1"));
});
