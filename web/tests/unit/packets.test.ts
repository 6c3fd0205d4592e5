/** What is drawn and listed of a trace. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TraceRow, WireDirection } from "lanewise";
import { busiest, endOf, firstSeen, isOf, lateness, meanwhile, ordered, pathWith, pathsOf, peersOf, requestOf, strokesOf } from "../../src/packets/model.ts";
import { USUAL, isSame, linksOf, readWindow } from "../../src/packets/window.ts";
import { credits, ns, title, waitWords } from "../../src/packets/words.ts";

const NS = 1_024_000;

function row(more: Partial<TraceRow>): TraceRow {
  return {
    at_ns: 0, at_ticks: 0, span_ticks: 0, link: "card", direction: "upstream", kind: "tlp", what: "MWr", sequence: null, requester: null,
    requester_id: null, tag: null, address: null, length_bytes: null, traffic_class: null, channel: null, header_credits: null, data_credits: null,
    issued_at_ticks: null, ready_at_ticks: null, waits: [], queue_depth: null, note: "", ...more,
  };
}

function wires(link: string, above: string): WireDirection[] {
  const both = { link, mode: "gen1 x4", propagation_ticks: 4 * NS, checked_after_ticks: 24 * NS };
  return [
    { ...both, direction: "upstream", transmitter: link, receiver: above },
    { ...both, direction: "downstream", transmitter: above, receiver: link },
  ];
}

const DIRECTIONS = [...wires("sw0", "server"), ...wires("card", "sw0"), ...wires("disk", "sw0")];

test("ways go from a host down to each device with nothing below it", () => {
  const paths = pathsOf(DIRECTIONS);
  assert.deepEqual(paths.map((path) => path.stations), [["server", "sw0", "card"], ["server", "sw0", "disk"]]);
  assert.deepEqual(paths[1]?.links, ["sw0", "disk"]);
  assert.equal(pathWith(paths, { link: "disk", requester: null })?.name, "disk");
  assert.equal(pathWith(paths, { link: "sw0", requester: "disk" })?.name, "disk");
  assert.equal(pathWith(paths, { link: "sw0", requester: "server" })?.name, "card");
  assert.equal(pathWith(paths, { link: "nothing", requester: "card" }), undefined);
  assert.equal(busiest(paths, [row({ link: "disk" }), row({ link: "sw0" })])?.name, "disk");
});

test("a request from one device to another below a switch has a way of its own", () => {
  const paths = pathsOf(DIRECTIONS);
  const way = peersOf(paths, [row({ link: "card" }), row({ link: "disk", direction: "downstream" })]);
  assert.deepEqual(way?.stations, ["card", "sw0", "disk"]);
  assert.deepEqual(way.links, ["card", "disk"]);
  const rows = [row({ link: "card", span_ticks: 1 }), row({ link: "disk", direction: "downstream", span_ticks: 1 })];
  assert.deepEqual(strokesOf(rows, way, DIRECTIONS).all.map(({ from, to }) => [from, to]), [[0, 1], [1, 2]]);
  assert.equal(peersOf(paths, [row({ link: "card" }), row({ link: "sw0" })]), null);
  // By way of the host.
  assert.equal(peersOf(paths, [row({ link: "card" }), row({ link: "sw0" }), row({ link: "disk" })]), null);
});

test("a port that is held up goes on when the row of the same port says so", () => {
  const held = { kind: "blocked", link: "card", channel: 0, note: "NP" };
  const rows = [
    row({ ...held, at_ticks: 10 }),
    row({ ...held, at_ticks: 20, channel: 1, waits: [{ cause: "tags", ticks: 10 }] }),
    row({ ...held, at_ticks: 30, waits: [{ cause: "tags", ticks: 20 }] }),
    row({ ...held, at_ticks: 40 }),
  ];
  assert.deepEqual([endOf(rows, 0), endOf(rows, 2), endOf(rows, 3)], [2, null, null]);
});

test("a packet leaves one station and arrives at the next, later by the propagation", () => {
  const [path] = pathsOf(DIRECTIONS);
  assert.ok(path);
  const rows = [
    row({ link: "disk", at_ticks: 0, span_ticks: 9 * NS }),
    row({ link: "card", at_ticks: 10 * NS, span_ticks: 20 * NS }),
    row({ link: "sw0", direction: "downstream", at_ticks: 11 * NS, span_ticks: 8 * NS, kind: "dllp" }),
    row({ link: "card", at_ticks: 50 * NS, kind: "blocked", waits: [{ cause: "posted_header", ticks: 30 * NS }] }),
  ];
  const { all, longest } = strokesOf(rows, path, DIRECTIONS);
  assert.deepEqual(all.map(({ index, from, to }) => [index, from, to]), [[1, 2, 1], [2, 0, 1], [3, 2, 1]]);
  assert.deepEqual(
    all.map((each) => [each.leaves, each.left, each.arrives, each.arrived].map((ticks) => ticks / NS)),
    [[10, 30, 14, 34], [11, 19, 15, 23], [20, 50, 20, 50]],
  );
  assert.equal(longest, 30 * NS);
});

test("of many ordered sets in a silence, which are one row, the first is drawn", () => {
  const [path] = pathsOf(DIRECTIONS);
  assert.ok(path);
  const { all } = strokesOf([row({ kind: "skp", what: "SKP", span_ticks: 64 * NS, note: "16 of them, one every 1500 ns" })], path, DIRECTIONS);
  assert.equal(all[0]?.left, 4 * NS);
});

test("drawing a part begins with the first that may reach into it", () => {
  const [path] = pathsOf(DIRECTIONS);
  assert.ok(path);
  const rows = Array.from({ length: 1000 }, (_, at) => row({ at_ticks: at * 10 * NS, span_ticks: 5 * NS }));
  const strokes = strokesOf(rows, path, DIRECTIONS);
  for (const from of [0, 4_321 * NS, 9_995 * NS]) {
    const first = firstSeen(strokes, from);
    assert.ok(strokes.all.slice(0, first).every((each) => each.arrived < from));
    assert.ok((strokes.all[first + 1]?.arrived ?? from) >= from);
  }
});

test("the longest wait comes first, or the oldest request; what is no TLP is not among them", () => {
  const rows = [
    row({ at_ticks: 9, ready_at_ticks: 9, issued_at_ticks: 1 }),
    row({ kind: "blocked", at_ticks: 9, waits: [{ cause: "wire", ticks: 99 }] }),
    row({ at_ticks: 20, span_ticks: 5, issued_at_ticks: 20, waits: [{ cause: "wire", ticks: 3 }, { cause: "dllp", ticks: 4 }] }),
    row({ at_ticks: 30, issued_at_ticks: 29, waits: [{ cause: "wire", ticks: 2 }] }),
  ];
  assert.deepEqual(ordered(rows, "time"), [0, 1, 2, 3]);
  assert.deepEqual(ordered(rows, "waited"), [2, 3]);
  assert.deepEqual(ordered(rows, "late"), [0, 2, 3]);
  assert.equal(lateness(rows[2] as TraceRow), 5);
});

test("TLPs of one request are found by its requester, the time of its issue, and the tag; of posted ones by the address", () => {
  const read = row({ what: "MRd", requester: "card", issued_at_ticks: 7, tag: 3, address: "0x40", length_bytes: 512 });
  const asked = requestOf(read);
  assert.ok(asked);
  assert.ok(isOf({ ...read, what: "CplD", address: "0x80", link: "sw0" }, asked));
  assert.ok(!isOf({ ...read, tag: 4 }, asked) && !isOf({ ...read, requester: "disk" }, asked) && !isOf({ ...read, issued_at_ticks: 8 }, asked));
  const write = { ...read, what: "MWr", tag: null };
  const posted = requestOf(write);
  assert.ok(posted && isOf(write, posted) && !isOf({ ...write, address: "0x80" }, posted) && !isOf(read, posted));
  assert.equal(requestOf({ ...read, kind: "blocked" }), null);
});

test("what had the wire while a packet waited for it", () => {
  const late = row({ at_ticks: 100, span_ticks: 10, ready_at_ticks: 40 });
  const rows = [
    row({ at_ticks: 20, span_ticks: 10 }),
    row({ at_ticks: 35, span_ticks: 10 }),
    row({ at_ticks: 50, span_ticks: 10, direction: "downstream" }),
    row({ at_ticks: 60, span_ticks: 40, kind: "dllp" }),
    late,
  ];
  assert.deepEqual(meanwhile(rows, late), [1, 3]);
});

test("rows in words, with the times of the listing", () => {
  const waits = [{ cause: "wire", ticks: 148 * NS }, { cause: "posted_header", ticks: 2 * 108 * NS }, { cause: "something_else", ticks: 1024 }];
  const write = row({ what: "MWr", requester: "card", address: "0x4010000", length_bytes: 128, channel: 0, header_credits: 0, waits });
  assert.equal(title(write), "MWr of card, 128 B at 0x4010000");
  assert.equal(waitWords(write), "364.001: 216.000 credits (PH), 148.000 the wire, 0.001 something else");
  assert.equal(credits(write), "0/∞");
  assert.equal(credits(row({ kind: "dllp", what: "Ack" })), "–");
  assert.equal(ns(4_227_072_512), "4128.001");
});

test("a window that a link holds is taken over; what is none of a window's is as usual", () => {
  const chosen = { place: "stall", start: "3 us", length: "1 us", link: "nvme[3]", kinds: ["error", "tlp"] } as const;
  const read = readWindow(JSON.parse(JSON.stringify(chosen)));
  assert.deepEqual(read, { ...chosen, kinds: ["tlp", "error"] });
  assert.ok(isSame(read, { ...chosen, kinds: [...chosen.kinds] }) && !isSame(read, USUAL));
  const hostile: unknown[] = [
    undefined, null, 7, "stall", [], [chosen], {}, { place: "constructor" }, { place: { toString: "stall" }, start: 3, length: null, link: ["nvme[3]"], kinds: "tlp" },
    { start: "9".repeat(301), link: "a".repeat(100_000), kinds: ["tlp", "tlp"] }, { kinds: ["tlp", "nothing"] }, { kinds: [[], {}] }, JSON.parse('{"__proto__": {"start": "8 us"}}'),
  ];
  for (const saved of hostile) assert.deepEqual(readWindow(saved), USUAL, JSON.stringify(saved)?.slice(0, 80));
  // One that is wrong spoils no other.
  assert.deepEqual(readWindow({ place: "nowhere", start: "3 us" }), { ...USUAL, start: "3 us" });
  assert.deepEqual(readWindow({ kinds: [] }).kinds, []);
});

test("links of a rig are those of the devices below it", () => {
  const leaf = (name: string) => ({ name, link: {}, below: [] });
  assert.deepEqual(linksOf([{ name: "server", link: null, below: [{ ...leaf("sw0"), below: [leaf("card"), leaf("disk")] }] }]), ["sw0", "card", "disk"]);
});
