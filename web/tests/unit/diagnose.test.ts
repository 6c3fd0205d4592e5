/** What is alike is shown once; files are looked at before they are read. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { DoctorFinding, PredictPrediction } from "lanewise";
import { MOST_BYTES, largerThan, readFiles, scenarioName } from "../../src/diagnose/given.ts";
import { alike, reached } from "../../src/diagnose/grouping.ts";
import { rate } from "../../src/diagnose/rate.ts";

const finding = (bdf: string, changes: Partial<DoctorFinding> = {}): DoctorFinding => ({
  rule: "link-width",
  severity: "warning",
  bdf,
  title: `${bdf} runs on x8 of x16 lanes`,
  evidence: [],
  cost: { what: "DMA: 1.00 GB/s instead of 2.00 GB/s", gb_per_s: 1, basis: "simulated" },
  fix: "Reseat it.",
  ...changes,
});

const row = (bdf: string, changes: Partial<PredictPrediction> = {}): PredictPrediction => ({
  bdf,
  device: "A GPU",
  link: "gen5 x16",
  benchmark: "host to device",
  direction: "read",
  ceiling_gb_per_s: 58.4,
  alone_gb_per_s: 54.9,
  together_gb_per_s: 12.5,
  alone_half_width_percent: 0.1,
  together_half_width_percent: 0.1,
  alone_has_settled: true,
  together_has_settled: true,
  latency_ns: null,
  frames_per_s: null,
  binding: "its link",
  kind_of_case: null,
  ...changes,
});

test("findings are together as the document says", () => {
  const findings = [finding("3b:00.0"), finding("3c:00.0", { severity: "error" }), finding("0000:5e:00.0"), finding("3d:00.0")];
  assert.deepEqual(
    alike({ findings, alike: [[0, 2], [1]] }).map(({ first, others }) => [first.bdf, ...others]),
    [["3b:00.0", "0000:5e:00.0"], ["3c:00.0"]],
  );
});

test("devices are together as the document says, and each group has the numbers of its first", () => {
  const predictions = [row("18:00.0"), row("18:00.0", { benchmark: "write to peer 19:00.0" }), row("19:00.0", { alone_gb_per_s: 52 }), row("1a:00.0", { together_gb_per_s: 9 })];
  const groups = reached({ predictions, alike: [["18:00.0"], ["19:00.0", "1a:00.0"]] });
  assert.deepEqual(
    groups.map(({ addresses, rows }) => [addresses, rows.map((each) => each.alone_gb_per_s)]),
    [[["18:00.0"], [54.9, 54.9]], [["19:00.0", "1a:00.0"], [52]]],
  );
});

test("files that are too long are refused before they are read", async () => {
  const huge = { name: "huge.bin", size: MOST_BYTES + 1, arrayBuffer: () => assert.fail("it was read") };
  await assert.rejects(readFiles([huge as unknown as File]), /'huge\.bin' is larger than 64 MiB, which no dump of a machine is/);
  assert.match(largerThan([huge, huge]), /^these files together are larger/);
  const small = new File(["00:00.0"], "lspci.txt");
  assert.deepEqual((await readFiles([small])).map(({ name, bytes }) => [name, bytes.length]), [["lspci.txt", 7]]);
});

test("a scenario is called after its dump", () => {
  const named = (name: string): string => scenarioName([{ name, bytes: new Uint8Array() }]);
  assert.deepEqual(["lspci.txt", "rig7.sysfs.tar.gz", ".txt", "node"].map(named), ["lspci.toml", "rig7.sysfs.toml", "machine.toml", "node.toml"]);
});

test("a rate that has not settled has a tilde and two figures", () => {
  assert.equal(rate(1.24288, false), "~1.2");
  assert.equal(rate(44.148, false), "~44");
  assert.equal(rate(144.8, false), "~140");
  assert.equal(rate(54.903, true), "54.90");
  assert.equal(rate(19.75, true), "19.75");
  assert.equal(rate(null, true), "–");
});
