import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readToml } from "../../src/toml/edit.ts";
import { type Table, isTable } from "../../src/toml/plain.ts";
import { meaningOf, sections } from "../../src/toml/schema.ts";

const ROOT = join(import.meta.dirname, "../../..");
const schema = JSON.parse(readFileSync(join(ROOT, "schema/scenario.schema.json"), "utf8")) as Table;

test("a key has a description, words, examples, and whether it is bare", () => {
  const latency = meaningOf(schema, ["host", "server", "memory_latency"], null);
  assert.match(latency?.description ?? "", /first byte of data at the root port/);
  assert.deepEqual([latency?.examples, latency?.isBare, latency?.keys], [["150 ns"], false, []]);
  assert.deepEqual(meaningOf(schema, ["endpoint", "nic", "link", "aspm"], null)?.choices.map((each) => each.value), ["off", "l0s", "l1", "l0s and l1"]);
  assert.equal(meaningOf(schema, ["endpoint", "nic", "count"], null)?.isBare, true);
  assert.equal(meaningOf(schema, ["host", "server", "peer_to_peer"], null)?.isBare, true);
  assert.equal(meaningOf(schema, ["endpoint", "nic", "no_such_key"], null), null);
});

test("a workload has the keys of its kind, and before that the kinds", () => {
  const dma = meaningOf(schema, ["workload", 0], "dma")?.keys ?? [];
  assert.ok(dma.includes("outstanding") && !dma.includes("iodepth"));
  assert.ok(meaningOf(schema, ["workload", 0], "fio")?.keys.includes("iodepth"));
  assert.deepEqual(meaningOf(schema, ["workload", 0], null)?.keys, ["kind"]);
  assert.ok((meaningOf(schema, ["workload", 0, "kind"], null)?.choices.length ?? 0) > 5);
  assert.deepEqual(meaningOf(schema, ["workload", 0, "direction"], null)?.choices.map((each) => each.value), ["read", "write", "both"]);
  assert.match(meaningOf(schema, ["workload", 0, "iodepth"], null)?.description ?? "", /./);
  assert.equal(meaningOf(schema, ["workload", 0, "no_such_key"], null), null);
  assert.ok(sections(schema).includes("workload"));
});

test("every key of a shipped scenario has a meaning", () => {
  for (const name of ["oversubscribed", "nvme_fio", "rdma_write", "storage", "virtual_channels", "two_sockets"]) {
    const written = readToml(readFileSync(join(ROOT, `scenarios/${name}.toml`), "utf8")) ?? {};
    const visit = (value: unknown, path: (string | number)[], kind: string | null): void => {
      if (path.length > 0 && typeof path.at(-1) === "string") assert.ok(meaningOf(schema, path, kind), `${name}: ${path.join(".")}`);
      if (Array.isArray(value) && path[0] === "workload" && path.length === 1) {
        for (const [index, each] of value.entries()) visit(each, [...path, index], isTable(each) ? String(each["kind"]) : null);
      } else if (isTable(value)) {
        for (const [key, each] of Object.entries(value)) visit(each, [...path, key], kind);
      }
    };
    visit(written, [], null);
  }
});
