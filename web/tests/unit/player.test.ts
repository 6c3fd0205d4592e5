/** The player of a session: which of several starts counts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Connection, Session } from "lanewise";
import { type Listener, Player } from "../../src/simulator/player.ts";

const LISTENER: Listener = { looked: () => undefined, ended: () => undefined, playing: () => undefined, failed: () => undefined };

/** A simulator whose sessions begin when the test says so. */
function made() {
  const asked: { text: string; begins(): void; fails(error: Error): void }[] = [];
  const closed: string[] = [];
  const session = (text: string): Promise<Session<false>> => {
    const { promise, resolve, reject } = Promise.withResolvers<Session<false>>();
    const results = () => Promise.resolve({ title: text });
    const close = () => Promise.resolve(void closed.push(text));
    asked.push({ text, begins: () => resolve({ results, close } as unknown as Session<false>), fails: reject });
    return promise;
  };
  const player = new Player({ session } as unknown as Connection, LISTENER);
  const begin = (text: string): Promise<boolean> => player.begin({ text, path: "rig.toml", keepsGoing: false });
  return { player, begin, asked, closed };
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

test("of two starts the later one counts, whichever the simulator answers first", async () => {
  for (const order of [[0, 1], [1, 0]] as const) {
    const { player, begin, asked, closed } = made();
    const first = begin("first");
    await turn();
    const second = begin("second");
    await turn();
    for (const each of order) asked[each]?.begins();
    assert.deepEqual(await Promise.all([first, second]), [false, true]);
    assert.equal((await player.results())?.title, "second");
    assert.deepEqual(closed, ["first"]);
  }
});

test("a start that fails after another was begun is no fault; one that fails by itself is", async () => {
  const { player, begin, asked } = made();
  const first = begin("first");
  await turn();
  const second = begin("second");
  await turn();
  asked[0]?.fails(new Error("out of memory"));
  assert.equal(await first, false);
  assert.equal(player.hasRun, false);
  asked[1]?.begins();
  assert.equal(await second, true);
  assert.equal(player.hasRun, true);
  const third = begin("third");
  await turn();
  asked[2]?.fails(new Error("out of memory"));
  await assert.rejects(third, /out of memory/);
  assert.equal(player.hasRun, false);
});

test("a pause while a run begins leaves it at its start", async () => {
  const { player, begin, asked, closed } = made();
  const only = begin("only");
  await turn();
  player.pause();
  asked[0]?.begins();
  assert.equal(await only, true);
  assert.equal((await player.results())?.title, "only");
  assert.deepEqual(closed, []);
});

test("a step that finds no packet shows how far it came", async () => {
  const silent = { upstream: { tlps_per_s: 0 }, downstream: { tlps_per_s: 0 } };
  const looked: number[] = [];
  let events = 0;
  const session = {
    step: () => Promise.resolve({ over: false, events: ++events }),
    state: () => Promise.resolve({ links: [silent] }),
  };
  const listener: Listener = { ...LISTENER, looked: (_, step) => looked.push((step as unknown as { events: number }).events) };
  const player = new Player({ session: () => Promise.resolve(session) } as unknown as Connection, listener);
  await player.begin({ text: "rig", path: "rig.toml", keepsGoing: false });
  await player.packet();
  assert.ok(events > 100);
  assert.deepEqual(looked, [events]);
});

test("a picture that takes long to draw neither shrinks the slices of a run nor takes most of its time", async (context) => {
  const DRAWN_MS = 120;
  const slices: number[] = [];
  // A clock that only what is done moves: a thousand events take a millisecond, and a picture is drawn in the slice after a look.
  let [clock, undrawn, looks] = [0, 0, 0];
  context.mock.method(performance, "now", () => clock);
  const session = {
    step({ events }: { events: number }) {
      slices.push(events);
      clock += Math.max(events / 1000, undrawn);
      undrawn = 0;
      return Promise.resolve({ over: false });
    },
    state: () => Promise.resolve({ links: [] }),
  };
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const looked = (): void => {
    looks++;
    undrawn = DRAWN_MS;
    if (clock > 5000) end();
  };
  const player = new Player({ session: () => Promise.resolve(session) } as unknown as Connection, { ...LISTENER, looked });
  await player.begin({ text: "rig", path: "rig.toml", keepsGoing: false });
  player.play();
  await ended;
  player.pause();
  assert.ok(looks * DRAWN_MS < clock * 0.4, `${looks} pictures in ${clock.toFixed(0)} ms`);
  assert.ok(Math.min(...slices.slice(1)) >= 20_000, `slices of ${slices.join(", ")} events`);
});
