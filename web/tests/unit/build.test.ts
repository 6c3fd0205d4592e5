import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Explain, NegotiatedLink, Part } from "lanewise";
import { type Act, moved, oneMore, withPart, withWorkload } from "../../src/build/acts.ts";
import { without } from "../../src/build/deleting.ts";
import { linksOf, partsFor } from "../../src/build/parts.ts";
import { drawingOf } from "../../src/rig/layout.ts";
import { type Rig, rigOf } from "../../src/rig/topology.ts";
import { changesBetween } from "../../src/toml/changes.ts";
import { applied, readToml } from "../../src/toml/edit.ts";

const scenario = (name: string): string => readFileSync(join(import.meta.dirname, "../../../scenarios", name), "utf8");
const GPUS = scenario("gpu_node.toml");
const DRIVES = scenario("oversubscribed.toml");

/** As the core would resolve it: links, and ports on which nothing is. */
function rigWith(text: string, pairs: [upper: string, lower: string][], free: [port: string, link: string][] = []): Rig {
  const links = pairs.map(([upper, lower]) => ({ name: lower, upper, lower, generation: "gen4", width: "x4" }) as NegotiatedLink);
  const functions = free.map(([name]) => ({ name, kind: name.startsWith("server") ? "root port" : "downstream port" }));
  const parameters = free.map(([name, value]) => ({ path: name.replace(".", name.startsWith("server") ? ".slots." : ".ports.") + ".link", value }));
  return rigOf({ format: 1, title: "", links, parameters, functions, remarks: [] } as unknown as Explain, readToml(text) ?? {});
}

const eight = (name: string, upper: (index: number) => string): [string, string][] => Array.from({ length: 8 }, (_, index) => [upper(index), `${name}[${index}]`]);
const drives = (): Rig =>
  rigWith(DRIVES, [["server.slot1", "sw0"], ...eight("nvme", (index) => `sw0.port${index + 1}`)], [["sw0.port9", "gen4 x4"], ["sw0.port10", "gen4 x4"], ["server.slot2", "gen4 x16"]]);
const gpus = (): Rig =>
  rigWith(GPUS, [...[0, 1, 2, 3].map((index): [string, string] => [`server.slot${index + 1}`, `sw[${index}]`]), ...eight("gpu", (index) => `sw[${index >> 1}].port${(index & 1) + 1}`)], [["server.slot5", "gen4 x16"]]);

function done(act: Act | string | null | undefined): string {
  assert.ok(act && typeof act !== "string", `there is no such act: ${JSON.stringify(act)}`);
  assert.ok(readToml(act.text), `no TOML:\n${act.text}`);
  return act.text;
}

const part = (name: string, kind: string, paths: Record<string, string>): Part =>
  ({ name, kind, title: `The ${name}`, parameters: Object.entries(paths).map(([path, value]) => ({ path, value })) }) as unknown as Part;
const SSD = part("some-ssd", "endpoint", { generation: "gen4", width: "x4", "nvme.capacity": "1 TB" });
const SWITCH = part("some-switch", "switch", { "ports.port0.link": "gen4 x16", "ports.port1.link": "gen4 x4", "ports.port2.link": "gen4 x4" });
const BOARD = part("some-board", "host", { "slots.slot1.link": "gen4 x16" });

test("a part is added behind those of its kind, and nothing else changes", () => {
  assert.equal(
    done(withPart(DRIVES, SSD, "sw0.port9")),
    DRIVES.replace('next free ports\n', 'next free ports\n\n[endpoint.nvme0]\npart = "some-ssd"\nattach = "sw0.port9"\n'),
  );
  assert.match(done(withPart(DRIVES, SWITCH, "server.slot2")), /attach = "server\.slot1"\n\n\[switch\.sw1\]\npart = "some-switch"\nattach = "server\.slot2"\n\n\[endpoint/);
  const hosts = done(withPart(DRIVES, BOARD, null));
  assert.match(hosts, /\n\n\[host\.server2\]\npart = "some-board"\n\n\[switch/);
  assert.equal(done(withPart("", BOARD, null)), '[host.server]\npart = "some-board"\n');
});

test("a device is moved by its attach; one of a group leaves it, with the work that it did", () => {
  const alone = scenario("wrong_slot.toml");
  assert.equal(done(moved(alone, "nic", "server.slot1", rigWith(alone, [["server.slot2", "nic"]]))), alone.replace('attach = "server.slot2"', 'attach = "server.slot1"'));
  const split = readToml(done(moved(DRIVES, "nvme[3]", "server.slot2", drives()))) as { endpoint: Record<string, object>; workload: object[] };
  assert.deepEqual(split.endpoint["nvme"], { part: "generic-gen4-x4", count: 7, attach: "sw0.*" });
  assert.deepEqual(split.endpoint["nvme0"], { part: "generic-gen4-x4", attach: "server.slot2" });
  assert.deepEqual(split.workload, [
    { kind: "dma", name: "write", device: "nvme[*]", direction: "write", size: "64 KiB", outstanding: 8 },
    { kind: "dma", name: "write_nvme0", device: "nvme0", direction: "write", size: "64 KiB", outstanding: 8 },
  ]);
});

test("a switch that is moved takes along what hangs on it, also one of several", () => {
  assert.equal(done(moved(DRIVES, "sw0", "server.slot2", drives())), DRIVES.replace('attach = "server.slot1"', 'attach = "server.slot2"'));
  const made = readToml(done(moved(GPUS, "sw[1]", "server.slot5", gpus()))) as { switch: Record<string, { count?: number; attach: string }>; endpoint: Record<string, { count?: number; attach: string }> };
  assert.deepEqual([made.switch["sw"]?.count, made.switch["sw0"]?.attach, made.switch["sw0"]?.count], [3, "server.slot5", undefined]);
  assert.deepEqual(Object.values(made.endpoint).map(({ count, attach }) => [count, attach]).sort(), [[undefined, "sw0.port1"], [undefined, "sw0.port2"], [6, "sw[*].*"]]);
});

test("what is deleted takes along what hangs on it and the work that only it did", () => {
  const one = done(without(DRIVES, "nvme[3]", drives()));
  assert.equal(one, DRIVES.replace("count = 8 ", "count = 7 "));
  const all = done(without(DRIVES, "sw0", drives()));
  assert.equal(all, DRIVES.slice(0, DRIVES.indexOf("[switch.sw0]")).trimEnd() + "\n");
  const half = readToml(done(without(GPUS, "sw[1]", gpus()))) as { switch: { sw: { count: number } }; endpoint: { gpu: { count: number } }; workload: object[] };
  assert.deepEqual([half.switch.sw.count, half.endpoint.gpu.count, half.workload.length], [3, 6, 1]);
});

test("names of members close up, lists lose what is gone, and cables and drives go with their adapter", () => {
  const text = `[host.server]
[endpoint.nvme]
count = 3
attach = "server.*"
[endpoint.hba]
attach = "server.slot4"
[storage.disks]
attach = "hba"
[network.cable]
ends = ["hba.port1", "nvme[0].port1"]
[[workload]]
kind = "fio"
filename = ["nvme[0]", "nvme[1]", "nvme[2]"]
# Of the disks.
[[workload]]
kind = "iometer"
targets = ["disks"]
[[workload]]
kind = "perftest"
network = "cable"
`;
  const rig = rigWith(text, [["server.slot1", "nvme[0]"], ["server.slot2", "nvme[1]"], ["server.slot3", "nvme[2]"], ["server.slot4", "hba"]]);
  assert.match(done(without(text, "nvme[1]", rig)), /count = 2\n[^]*filename = \["nvme\[0\]", "nvme\[1\]"\]/);
  const left = done(without(text, "hba", rig));
  assert.deepEqual(Object.keys(readToml(left) ?? {}), ["host", "endpoint", "workload"]);
  assert.equal((readToml(left)?.["workload"] as unknown[]).length, 1);
  assert.doesNotMatch(left, /Of the disks/);
});

test("one more is a larger group; else a section of its own on a free port", () => {
  const [larger, own] = oneMore(DRIVES, "nvme[3]", drives());
  assert.equal(done(larger), DRIVES.replace("count = 8 ", "count = 9 "));
  assert.match(done(own), /\[endpoint\.nvme0\]\npart = "generic-gen4-x4"[^\n]*\nattach = "sw0\.port9"/);
  const text = scenario("first_rig.toml");
  const [pair] = oneMore(text, "nvme0", rigWith(text, [["server.slot1", "nvme0"]]));
  assert.match(done(pair), /attach = "server\.\*"\ncount = 2\n[^]*device = "nvme0\[\*\]"/);
});

test("a workload goes behind the others", () => {
  const text = done(withWorkload(DRIVES, [["kind", '"dma"'], ["device", '"nvme[0]"'], ["direction", '"read"']]));
  assert.equal(text, `${DRIVES.trimEnd()}\n\n[[workload]]\nkind = "dma"\ndevice = "nvme[0]"\ndirection = "read"\n`);
});

test("an act becomes changes of its own lines only", () => {
  for (const after of [done(without(GPUS, "sw[1]", gpus())), done(moved(GPUS, "sw[1]", "server.slot5", gpus())), "", `${GPUS}\nx`]) {
    const changes = changesBetween(GPUS, after);
    assert.equal([...changes].reverse().reduce(applied, GPUS), after);
  }
  assert.deepEqual(changesBetween("a\nb\nc\nd\n", "a\nB\nc\nD\n").map((each) => each.insert), ["B\n", "D\n"]);
  assert.deepEqual(changesBetween("a\n", "a\n"), []);
});

test("free ports that are alike stand together, below what hangs on the device", () => {
  const drawing = drawingOf(drives());
  assert.deepEqual(drawing.stubs.map((stub) => [stub.device.name, stub.free.ports, stub.free.link]), [
    ["sw0", ["sw0.port9", "sw0.port10"], "gen4 x4"],
    ["server", ["server.slot2"], "gen4 x16"],
  ]);
  for (const stub of drawing.stubs) {
    const home = drawing.boxes.find((box) => box.device === stub.device);
    assert.ok(home && stub.y > home.y && stub.y < home.y + home.height && stub.x === home.x + home.width);
  }
});

test("parts are found by kind and by words, with what their links are", () => {
  const all = [BOARD, SSD, SWITCH, part("defaults", "host", { rcb: "64 B" })];
  assert.deepEqual(partsFor(all, "", "").map((each) => each.name), ["some-ssd", "some-switch", "some-board"]);
  assert.deepEqual(partsFor(all, "SOME gen4 x4 nvme", "").map((each) => each.name), ["some-ssd"]);
  assert.deepEqual(partsFor(all, "", "Switch").map((each) => each.name), ["some-switch"]);
  assert.equal(linksOf(SWITCH), "1 × gen4 x16, 2 × gen4 x4");
});
