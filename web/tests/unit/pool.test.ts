/** Several simulators and one queue. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Connection } from "lanewise";
import { simulatorsFor } from "../../src/simulator/machine.ts";
import { GivenUp, Pool } from "../../src/simulator/pool.ts";

const PC = { cores: 16, memory: 8, isTouched: false, isServed: false };

test("as many simulators as the machine has cores to spare, fewer on phones and servers", () => {
  assert.equal(simulatorsFor(PC), 8);
  assert.equal(simulatorsFor({ ...PC, cores: 4 }), 3);
  assert.equal(simulatorsFor({ ...PC, cores: 1 }), 1);
  assert.equal(simulatorsFor({ ...PC, cores: undefined, memory: undefined }), 1);
  assert.equal(simulatorsFor({ ...PC, isTouched: true }), 2);
  assert.equal(simulatorsFor({ ...PC, memory: 2 }), 2);
  assert.equal(simulatorsFor({ ...PC, isServed: true }), 4);
});

/** Simulators that are numbers, and what ends them. */
function made(most = 2, patience = 60_000, start?: () => Promise<void>) {
  const stopped: number[] = [];
  const deaths: ((reason: string) => void)[] = [];
  const pool = new Pool(most, async (died) => {
    await start?.();
    const number = deaths.push(died) - 1;
    return { number, stop: () => void stopped.push(number) } as unknown as Connection;
  }, patience);
  return { pool, stopped, deaths };
}

const numberOf = (simulator: Connection): number => (simulator as unknown as { number: number }).number;
const later = (ms = 1): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

test("work is shared, in its order, and what is next goes first", async () => {
  const { pool, deaths } = made();
  const order: string[] = [];
  const piece = (name: string, isNext = false): Promise<number> =>
    pool.do(async (simulator) => {
      order.push(name);
      await later();
      return numberOf(simulator);
    }, isNext);
  const first = [piece("a"), piece("b"), piece("c"), piece("d")];
  const last = piece("next", true);
  const numbers = await Promise.all([...first, last]);
  assert.equal(order[0], "next");
  assert.deepEqual(order.slice(1), ["a", "b", "c", "d"]);
  assert.deepEqual([...new Set(numbers)].sort(), [0, 1]);
  assert.equal(deaths.length, 2);
  assert.equal(pool.size.value, 2);
  pool.stop();
});

test("a piece that fails is the only one that does", async () => {
  const { pool } = made(1);
  const failing = pool.do(() => Promise.reject(new Error("a trap")));
  const other = pool.do(() => Promise.resolve(7));
  await assert.rejects(failing, /a trap/);
  assert.equal(await other, 7);
  pool.stop();
});

test("a simulator that dies takes its piece along, and another does the rest", async () => {
  const { pool, deaths, stopped } = made(1);
  let giveUp: (error: Error) => void = () => undefined;
  const dying = pool.do(() => new Promise((_, reject) => (giveUp = reject)));
  const rest = pool.do((simulator) => Promise.resolve(numberOf(simulator)));
  await later();
  // As `connect` has it: first the call fails, then it is told.
  giveUp(new Error("out of memory"));
  deaths[0]?.("out of memory");
  await assert.rejects(dying, /out of memory/);
  assert.equal(await rest, 1);
  assert.deepEqual(stopped, [0]);
  pool.stop();
});

test("where no other simulator starts, those that there are do it all; where none does, it is said", async () => {
  let starts = 0;
  const { pool } = made(4, 60_000, async () => {
    if (++starts > 1) throw new Error("8 pages are connected already");
  });
  const numbers = await Promise.all(Array.from({ length: 6 }, () => pool.do((simulator) => Promise.resolve(numberOf(simulator)))));
  assert.deepEqual(numbers, [0, 0, 0, 0, 0, 0]);
  pool.stop();
  const none = made(2, 60_000, () => Promise.reject(new Error("no workers here")));
  await assert.rejects(none.pool.do(() => Promise.resolve(1)), /no workers here/);
});

test("what is stopped ends as given up, and simulators end with it, or after a while without work", async () => {
  const { pool, stopped } = made(1);
  const under = pool.do(() => new Promise(() => undefined));
  const waiting = pool.do(() => Promise.resolve(1));
  await later();
  pool.stop();
  await assert.rejects(waiting, GivenUp);
  assert.deepEqual(stopped, [0]);
  void under;
  const brief = made(1, 5);
  await brief.pool.do(() => Promise.resolve(1));
  await later(30);
  assert.deepEqual(brief.stopped, [0]);
  assert.equal(brief.pool.size.value, 0);
});

test("work that comes after a stop, while simulators start, is done, whether those start or not", async () => {
  for (const fails of [false, true]) {
    const starts: PromiseWithResolvers<void>[] = [];
    const { pool, stopped } = made(2, 60_000, () => {
      starts.push(Promise.withResolvers());
      return (starts.at(-1) as PromiseWithResolvers<void>).promise;
    });
    const before = [pool.do(() => Promise.resolve(1)), pool.do(() => Promise.resolve(2))];
    pool.stop();
    for (const given of before) await assert.rejects(given, GivenUp);
    const after = [pool.do((simulator) => Promise.resolve(numberOf(simulator))), pool.do((simulator) => Promise.resolve(numberOf(simulator)))];
    assert.equal(starts.length, 2, "no more at a time than there may be");
    for (const start of starts) fails ? start.reject(new Error("too late")) : start.resolve();
    await later();
    assert.equal(starts.length, 4);
    for (const start of starts) start.resolve();
    assert.deepEqual(await Promise.all(after), fails ? [0, 1] : [2, 3]);
    assert.deepEqual(stopped, fails ? [] : [0, 1], "those of before the stop are ended");
    assert.equal(pool.size.value, 2);
    pool.stop();
  }
});

test("after a stop there may be as many simulators as ever", async () => {
  let isFull = true;
  let starts = 0;
  const { pool } = made(3, 60_000, async () => {
    if (++starts > 1 && isFull) throw new Error("8 pages are connected already");
  });
  const three = (): Promise<unknown> => Promise.all(Array.from({ length: 3 }, () => pool.do(() => later())));
  await three();
  assert.equal(pool.size.value, 1);
  isFull = false;
  await three();
  assert.equal(pool.size.value, 1, "it does not ask each time");
  pool.stop();
  await three();
  assert.equal(pool.size.value, 3);
  pool.stop();
});
