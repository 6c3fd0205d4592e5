/** Where a scenario names its components, as the schema says, and what an act does to these names. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Explain, NegotiatedLink } from "lanewise";
import { type Act, moved, oneMore } from "../../src/build/acts.ts";
import { without } from "../../src/build/deleting.ts";
import { type Rig, rigOf } from "../../src/rig/topology.ts";
import { readToml } from "../../src/toml/edit.ts";
import { NAMES, SECTIONS } from "../../src/toml/names.ts";
import { at, tableAt } from "../../src/toml/plain.ts";
import { carriersNamedBy, referencesIn } from "../../src/toml/references.ts";

const GPUS = `[host.server]
slots = { "slot1..slot6" = "gen4 x16" }
peer_to_peer = true

[endpoint.gpu]
part = "generic-gen4-x16"
count = 4
attach = "server.*"
`;

const COPIES = `${GPUS}
[[workload]]
kind = "peer_copies"
name = "copies"
devices = ["gpu[*]"]
pairs = ["0>1", "2>3"]
`;

/** As the core would resolve it: each device on a slot of its own. */
function rig(text: string): Rig {
  const written = readToml(text) ?? {};
  const devices = Object.entries(tableAt(written, "endpoint")).flatMap(([name, table]) => {
    const count = at(table, ["count"]);
    return count === undefined ? [name] : Array.from({ length: Number(count) }, (_, index) => `${name}[${index}]`);
  });
  const links = devices.map((lower, index) => ({ name: lower, upper: `server.slot${index + 1}`, lower, generation: "gen4", width: "x16" }) as NegotiatedLink);
  const free = [{ name: "server.slot6", kind: "root port" }];
  const parameters = [{ path: "server.slots.slot6.link", value: "gen4 x16" }];
  return rigOf({ format: 1, title: "", links, parameters, functions: free, remarks: [] } as unknown as Explain, written);
}

function done(act: Act | string | null): string {
  assert.ok(act !== null && typeof act !== "string", String(act));
  return act.text;
}

test("all that the schema says names something is found, and nothing else", () => {
  const text = `[network.cable]
ends = ["nic[0].port1", "nic[1].port1"]

[endpoint.nic]
part = "a-part"
attach = { value = "server.*", provenance = "assumed", source = "a guess" }
link = { cable = "copper" }

[[workload]]
kind = "perftest"
name = "nic"
network = "cable"
memory = "gpu[2]"

[[workload]]
kind = "smartflow"
flows = [{ name = "a", from = "nic0.0", to = "nic1.0" }]
`;
  assert.deepEqual(referencesIn(text).map(({ value }) => value), ["nic[0].port1", "nic[1].port1", "server.*", "copper", "cable", "gpu[2]", "nic0.0", "nic1.0"]);
  assert.ok(SECTIONS.includes("network_switch"));
  assert.deepEqual([NAMES["workload peer_copies"]?.["pairs"], NAMES["workload collective"]?.["root"]], ["places", "places"]);
});

test("memory of a device is still its memory when its number changes", () => {
  const text = `${GPUS}
[endpoint.nic]
part = "generic-gen4-x16"
attach = "server.*"

[[workload]]
kind = "dma"
device = "nic"
direction = "write"
target = { value = "gpu[2]", provenance = "assumed", source = "the third" }
`;
  assert.match(done(without(text, "gpu[0]", rig(text))), /value = "gpu\[1\]"/);
  assert.match(done(moved(text, "gpu[2]", "server.slot6", rig(text))), /value = "gpu0"/);
});

test("where a workload goes by places in its list, no act shifts them", () => {
  for (const act of [without(COPIES, "gpu[2]", rig(COPIES)), moved(COPIES, "gpu[2]", "server.slot6", rig(COPIES))]) {
    assert.match(String(act), /^The workload copies names devices by their place in a list/);
  }
  const rooted = COPIES.replace('kind = "peer_copies"', 'kind = "collective"\noperation = "broadcast"\nsize = "1 MiB"').replace(/pairs = .*/, "root = 2");
  assert.equal(typeof without(rooted, "gpu[0]", rig(rooted)), "string");
  const free = COPIES.replace(/pairs = .*\n/, "");
  assert.match(done(without(free, "gpu[2]", rig(free))), /count = 3/);
});

test("a group grows only behind all whose places count", () => {
  const grows = (text: string): boolean => oneMore(text, "gpu[0]", rig(text)).some(({ text: made }) => /count = 5/.test(made));
  assert.ok(grows(COPIES));
  const other = COPIES.replace("count = 4", "count = 3").replace("\n[[workload]]", '\n[endpoint.other]\npart = "generic-gen4-x16"\nattach = "server.*"\n\n[[workload]]').replace('["gpu[*]"]', '["gpu[*]", "other"]');
  assert.ok(oneMore(other, "gpu[0]", rig(other)).every(({ text: made }) => !/count = 4/.test(made)));
});

test("a range of a group is left as it is, and so is its group", () => {
  const text = COPIES.replace(/pairs = .*\n/, "").replace('["gpu[*]"]', '["gpu[0..3]"]');
  assert.match(String(without(text, "gpu[1]", rig(text))), /^gpu\[0\.\.3\] would then be other devices/);
});

test("a form and the editor offer devices and networks where a workload names them", () => {
  const offered = (kind: string | null, key: string) => carriersNamedBy(kind, key);
  assert.deepEqual([offered("gdsio", "gpu"), offered("gdsio", "filename"), offered("mmio", "device"), offered("fio", "iomem")], ["device", "device", "device", "device"]);
  assert.deepEqual([offered("osu", "network"), offered("collective", "networks")], ["network", "network"]);
  assert.deepEqual([offered("reassign", "to"), offered("dma", "size"), offered("none such", "device")], [null, null, null]);
  assert.deepEqual([offered(null, "device"), offered(null, "networks"), offered(null, "size")], ["device", "network", null], "before its kind is written");
});
