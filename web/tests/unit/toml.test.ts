import assert from "node:assert/strict";
import { test } from "node:test";
import { cursorAt } from "../../src/toml/cursor.ts";
import { applied, readToml, setKey } from "../../src/toml/edit.ts";
import { keysOf, pathOf } from "../../src/toml/place.ts";

const RIG = `# A rig
[host.server]
slots = { slot1 = "gen4 x4" }          # one slot

[endpoint.nvme]
count = 2
attach = "server.*"
link = { propagation = "4 ns" }   # a cable
write_drain = { value = "3 ns", provenance = "assumed", source = "a guess" }

[[workload]]
kind = "dma"
name = "write"
device = "nvme[*]"

[[workload]]
kind = "dma"
size = "4 KiB"
`;

const after = (keys: (string | number)[], literal: string, text = RIG): string => {
  const edit = setKey(text, keys, literal);
  assert.ok(edit, `no edit for ${keys.join(".")}`);
  return applied(text, edit);
};

test("a value that is there is replaced, and nothing beside it", () => {
  assert.equal(after(["endpoint", "nvme", "count"], "4"), RIG.replace("count = 2", "count = 4"));
  assert.equal(after(["endpoint", "nvme", "link", "propagation"], '"9 ns"'), RIG.replace("4 ns", "9 ns"));
  assert.equal(after(["workload", 1, "size"], '"64 B"'), RIG.replace("4 KiB", "64 B"));
});

test("a value with a provenance keeps it", () => {
  assert.equal(after(["endpoint", "nvme", "write_drain"], '"5 ns"'), RIG.replace('value = "3 ns"', 'value = "5 ns"'));
});

test("a new key goes behind the last of its table and its comment", () => {
  assert.equal(
    after(["host", "server", "memory_latency"], '"1 us"'),
    RIG.replace("# one slot\n", '# one slot\nmemory_latency = "1 us"\n'),
  );
  assert.equal(after(["workload", 0, "size"], '"64 B"'), RIG.replace('device = "nvme[*]"\n', 'device = "nvme[*]"\nsize = "64 B"\n'));
});

test("a new key of a table in braces goes into the braces", () => {
  assert.equal(after(["endpoint", "nvme", "link", "aspm"], '"l1"'), RIG.replace('"4 ns" }', '"4 ns", aspm = "l1" }'));
  assert.match(after(["host", "server", "link", "aspm"], '"l1"'), /^link\.aspm = "l1"$/m);
});

test("a table that is not there is made at the end", () => {
  assert.equal(after(["run", "seed"], "7"), `${RIG}\n[run]\nseed = 7\n`);
  assert.equal(after(["run", "seed"], "7", "title = 'x'"), "title = 'x'\n\n[run]\nseed = 7\n");
});

test("an edit that would leave no TOML is none", () => {
  assert.equal(setKey(RIG, ["endpoint", "nvme", "count"], "four"), null);
  assert.equal(setKey("[host", ["run", "seed"], "7"), null);
  assert.equal(setKey(RIG, ["host", "server", "slots", "slot1", "credits"], '"1"'), null);
});

test("paths of results lead to keys of the file, and back", () => {
  const written = readToml(RIG) ?? {};
  const cases: [string, (string | number)[] | null][] = [
    ["server.memory_latency", ["host", "server", "memory_latency"]],
    ["nvme[1].link.propagation", ["endpoint", "nvme", "link", "propagation"]],
    ["run.seed", ["run", "seed"]],
    ["workload.write.size", ["workload", 0, "size"]],
    ["workload.dma1.size", ["workload", 1, "size"]],
    ["workload.dma0.size", null],
    ["server.slots.slot1.credits", null],
    ["nobody.mps", null],
  ];
  for (const [path, keys] of cases) assert.deepEqual(keysOf(path, written), keys, path);
  assert.equal(pathOf(["endpoint", "nvme", "count"], written, []), "nvme.count");
  assert.equal(pathOf(["workload", 0, "size"], written, []), "workload.write.size");
  assert.equal(pathOf(["workload", 1, "size"], written, ["workload.dma1.size"]), "workload.dma1.size");
});

test("a cursor knows its table, its key and its word", () => {
  const look = (text: string) => {
    const { table, part, key, word, kind } = cursorAt(text.replace("|", ""), text.indexOf("|"));
    return { table, part, key, word, kind };
  };
  const none = { kind: null };
  assert.deepEqual(look("[ho|"), { table: [], part: "heading", key: [], word: "ho", ...none });
  assert.deepEqual(look("[host.a]\nmem|"), { table: ["host", "a"], part: "key", key: [], word: "mem", ...none });
  assert.deepEqual(look('[host.a]\npart = "ge|'), { table: ["host", "a"], part: "value", key: ["part"], word: "ge", ...none });
  assert.deepEqual(look("[endpoint.n]\nlink = { a = 1, as|"), { table: ["endpoint", "n", "link"], part: "key", key: [], word: "as", ...none });
  assert.deepEqual(look('[endpoint.n]\nlink = { aspm = "l|" }'), { table: ["endpoint", "n", "link"], part: "value", key: ["aspm"], word: "l", ...none });
  assert.deepEqual(look("[host.a]\nmemory.in|"), { table: ["host", "a", "memory"], part: "key", key: [], word: "in", ...none });
  assert.deepEqual(look('[[workload]]\nkind = "dma"\n[[workload]]\nsi|\nkind = "fio"\n'), { table: ["workload", 1], part: "key", key: [], word: "si", kind: "fio" });
  assert.equal(look('[host.a]\nx = "#" # s|').part, "comment");
  assert.equal(look('[host.a]\nx = "#|').part, "value");
});
