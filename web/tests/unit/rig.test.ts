import assert from "node:assert/strict";
import { test } from "node:test";
import type { Explain, Flow, NegotiatedLink } from "lanewise";
import { PHONE, WIDE, drawingOf } from "../../src/rig/layout.ts";
import { rigOf } from "../../src/rig/topology.ts";
import { cause, counted, fitted, percent, rate, span } from "../../src/rig/words.ts";
import { changedValues } from "../../src/state/difference.ts";
import { grown } from "../../src/state/history.ts";
import { SCALES } from "../../src/views/scales.ts";

function explainedOf(pairs: [upper: string, lower: string][], parameters: [path: string, value: string, place?: string][] = []): Explain {
  const links = pairs.map(([upper, lower]) => ({ name: lower, upper, lower, generation: "gen4", width: "x4" }) as NegotiatedLink);
  const all = parameters.map(([path, value, place]) => ({ path, value, place: place ?? "rig.toml:1" }));
  return { format: 1, title: "A rig", links, parameters: all, functions: [], remarks: [] } as unknown as Explain;
}

test("hosts are roots, and devices hang in the order of their ports", () => {
  const rig = rigOf(explainedOf([["a.slot1", "sw"], ["sw.port1", "x"], ["sw.port2", "y"], ["b.slot1", "z"]]), {
    host: { a: {}, b: {}, idle: {} },
    network: { cable: { kind: "infiniband-edr", ends: ["y.port1", "z.port1"] } },
    storage: { disks: { attach: "x" } },
  });
  assert.deepEqual(rig.roots.map((root) => root.name), ["a", "b", "idle"]);
  const [sw] = rig.roots[0]?.below ?? [];
  assert.deepEqual([sw?.kind, sw?.below.map((each) => each.port)], ["switch", ["port1", "port2"]]);
  assert.deepEqual(sw?.below[0]?.beside, ["disks"]);
  assert.deepEqual(rig.sideLinks, [{ name: "cable", kind: "infiniband-edr", ends: ["y", "z"] }]);
  assert.equal(rig.count, 7);
});

test("boxes do not overlap, and every link is level with the box below", () => {
  const pairs: [string, string][] = [["a.s1", "sw0"], ["a.s2", "sw1"], ["b.s1", "nic"]];
  for (let index = 0; index < 24; index++) pairs.push([`sw${index % 2}.p${index}`, `d[${index}]`]);
  const drawing = drawingOf(rigOf(explainedOf(pairs), {}));
  assert.equal(drawing.boxes.length, 29);
  assert.ok(drawing.isDense);
  for (const [index, one] of drawing.boxes.entries()) {
    for (const other of drawing.boxes.slice(index + 1)) {
      const isApart = one.x + one.width <= other.x || other.x + other.width <= one.x || one.y + one.height <= other.y || other.y + other.height <= one.y;
      assert.ok(isApart, `${one.device.name} and ${other.device.name} overlap`);
    }
    assert.ok(one.y >= 0 && one.y + one.height <= drawing.height && one.x + one.width <= drawing.width);
  }
  for (const wire of drawing.wires) {
    const below = drawing.boxes.find((box) => box.device === wire.device);
    const above = drawing.boxes.find((box) => box.device.below.includes(wire.device));
    assert.ok(below && above && wire.x1 === above.x + above.width && wire.x2 === below.x);
    assert.ok(wire.y > above.y && wire.y < above.y + above.height, "the link begins at the box above");
  }
});

test("for a phone hosts and switches are bars where there are three levels, and boxes where there are two", () => {
  const widths = (pairs: [string, string][]): (number | undefined)[] => {
    const { boxes, width } = drawingOf(rigOf(explainedOf(pairs), {}), PHONE);
    return [...["a", "sw", "x"].map((name) => boxes.find(({ device }) => device.name === name)?.width), width];
  };
  const [host, between, leaf, all] = widths([["a.slot1", "sw"], ["sw.port1", "x"], ["sw.port2", "y"]]);
  assert.ok(host === between && Number(host) < Number(leaf) && Number(all) <= 400, `${all}`);
  assert.deepEqual(widths([["a.slot1", "x"]]).slice(0, 3), [PHONE.box, undefined, PHONE.box]);
  assert.ok(drawingOf(rigOf(explainedOf([["a.slot1", "sw"], ["sw.port1", "x"]]), {}), WIDE).boxes.every(({ width }) => width === WIDE.box));
});

test("a name that is too long keeps its beginning and its end", () => {
  assert.equal(fitted("nvme[3]", 7), "nvme[3]");
  const members = [0, 11].map((index) => fitted(`drive_in_the_upper_enclosure[${index}]`, 14));
  assert.deepEqual(members.map((name) => name.length), [14, 14]);
  assert.ok(members.every((name) => name.startsWith("drive_in") && name.endsWith("]")) && members[0] !== members[1]);
});

test("an edit of values is told from another machine", () => {
  const links: [string, string][] = [["a.s1", "x"]];
  const before = explainedOf(links, [["a.memory_latency", "200 ns"], ["x.reach", "1 ns", "computed"]]);
  const after = explainedOf(links, [["a.memory_latency", "1 us"], ["x.reach", "2 ns", "computed"]]);
  assert.deepEqual(changedValues(before, after), [{ path: "a.memory_latency", value: "1 us" }]);
  assert.deepEqual(changedValues(before, before), []);
  assert.equal(changedValues(before, explainedOf([["a.s2", "x"]], [["a.memory_latency", "200 ns"]])), null);
  assert.equal(changedValues(before, explainedOf(links, [["a.memory_latency", "200 ns"]])), null);
});

test("a history keeps its bound, and every flow as many points as times", () => {
  let history = { times: [] as number[], flows: {} as Record<string, number[]> };
  for (let index = 1; index <= 2000; index++) {
    const flow = (name: string) => ({ flow: name, device: name, direction: "read", last: { goodput_gb_per_s: index } });
    const flows = index < 500 ? [flow("one")] : [flow("one"), flow("two")];
    history = grown(history, { time_s: index, window_s: 1, flows } as never);
  }
  assert.ok(history.times.length <= 600);
  assert.equal(history.times.at(-1), 2000);
  for (const values of Object.values(history.flows)) assert.equal(values.length, history.times.length);
  assert.equal(history.flows["two read, two"]?.[0], 0);
  assert.equal(grown(history, { time_s: 2001, window_s: 0, flows: [] } as never), history);
});

test("a chart of a run begins where the run does", () => {
  assert.deepEqual(SCALES.x.range(null, 497e-6, 504e-6), [0, 504e-6]);
  assert.deepEqual(SCALES.y.range(null, 28, 0), [0, 1e-6]);
});

test("numbers have three digits and their unit", () => {
  assert.deepEqual([28.7031, 3.588, 0.0122, 0.000004, 0, null].map(rate), ["28.7 GB/s", "3.59 GB/s", "12.2 MB/s", "4.00 kB/s", "0", "–"]);
  assert.deepEqual([1, 0.99996, 0.5024, 0.0001, 0].map(percent), ["100 %", "100 %", "50.2 %", "<0.1 %", "0 %"]);
  assert.deepEqual([120e-6, 48.4e-9, 1.5].map(span), ["120 µs", "48.4 ns", "1.50 s"]);
  assert.deepEqual([9.9985, 0.9996, 0.0009997, 1234.5].map(rate), ["10.0 GB/s", "1.00 GB/s", "1.00 MB/s", "1235 GB/s"]);
  assert.equal(rate(3.6e-15), "0", "what floats leave of nothing");
  assert.deepEqual([0.99964, 0.9996e-6, 9.9985e-6].map(span), ["1.00 s", "1.00 µs", "10.0 µs"]);
  assert.equal(cause("blocked_posted_data"), "waits for posted data credits of the receiver");
});

test("what a flow counts is called what the core calls it, and what was never over has no rate", () => {
  const flow = { operations: 3_505_860, operations_per_s: 14_023_438, counted: "requests" } as Flow;
  assert.equal(counted(flow), "14,023,438 requests");
  assert.equal(counted({ ...flow, counted: "operations" } as Flow), "14,023,438 operations");
  assert.equal(counted({ ...flow, operations: 0, operations_per_s: 0 }), "–");
});
