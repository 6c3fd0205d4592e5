/**
 * Several simulators that share a queue of work: each takes the next piece when it is done with one.
 *
 * They are started when there is work, as many as may be, and ended when there was none for a while. One that dies takes its piece with it
 * and nothing else: another is started for the rest.
 */
import { signal } from "@preact/signals";
import type { Connection } from "lanewise";

/** A piece of work of one simulator. */
export type Work<T> = (simulator: Connection) => Promise<T>;

/** What a piece of work ends with that was given up with the pool. */
export class GivenUp extends Error {}

/** Starts a simulator, and says when it is no more. */
export type Start = (died: (reason: string) => void) => Promise<Connection>;

/** Time without work after which simulators are ended, ms. */
const PATIENCE = 60_000;
/** Simulators that may die one after another, with no work done between: then it is not the work. */
const MOST_DEATHS = 10;

interface Piece {
  work: Work<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

export class Pool {
  /** Simulators that are there now. */
  readonly size = signal(0);
  /** As many as may be. */
  #limit: number;
  /** As many as there can be: fewer where one did not start. */
  #most: number;
  #start: Start;
  #patience: number;
  #queue: Piece[] = [];
  #free: Connection[] = [];
  #all = new Set<Connection>();
  #starting = 0;
  #deaths = 0;
  /** Grows when it is given up, so that what starts meanwhile is ended. */
  #turn = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(most: number, start: Start, patience: number = PATIENCE) {
    this.#limit = this.#most = most;
    this.#start = start;
    this.#patience = patience;
  }

  /** Has a piece of work done; before all that waits where it `isNext`. */
  do<T>(work: Work<T>, isNext = false): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const piece: Piece = { work, resolve: resolve as (value: unknown) => void, reject };
      if (isNext) this.#queue.unshift(piece);
      else this.#queue.push(piece);
      this.#go();
    });
  }

  /** Ends all simulators. What is under way or waits ends with `GivenUp`. */
  stop(): void {
    this.#turn++;
    // What kept one from starting may be over the next time.
    this.#most = this.#limit;
    clearTimeout(this.#timer);
    const [waiting, all] = [this.#queue, [...this.#all]];
    this.#queue = [];
    this.#free = [];
    this.#all.clear();
    this.#tell();
    for (const piece of waiting) piece.reject(new GivenUp("it was stopped"));
    for (const simulator of all) simulator.stop();
  }

  #go(): void {
    clearTimeout(this.#timer);
    while (this.#queue.length > 0) {
      const simulator = this.#free.pop();
      if (!simulator) break;
      void this.#work(simulator, this.#queue.shift() as Piece);
    }
    for (let missing = Math.min(this.#queue.length, this.#most - this.#all.size) - this.#starting; missing > 0; missing--) void this.#another();
    if (this.#queue.length === 0 && this.#free.length === this.#all.size && this.#all.size > 0) {
      this.#timer = setTimeout(() => this.stop(), this.#patience);
    }
  }

  async #work(simulator: Connection, piece: Piece): Promise<void> {
    const turn = this.#turn;
    try {
      const value = await piece.work(simulator);
      this.#deaths = 0;
      piece.resolve(value);
    } catch (error) {
      piece.reject(turn === this.#turn ? error : new GivenUp("it was stopped"));
    }
    if (!this.#all.has(simulator)) return;
    this.#free.push(simulator);
    this.#go();
  }

  async #another(): Promise<void> {
    const turn = this.#turn;
    this.#starting++;
    try {
      const simulator = await this.#start((reason) => this.#died(simulator, reason));
      this.#starting--;
      if (turn === this.#turn) {
        this.#all.add(simulator);
        this.#free.push(simulator);
        this.#tell();
      } else simulator.stop();
    } catch (error) {
      this.#starting--;
      if (turn === this.#turn) {
        // Those that there are do it all: a server has no more of them, or the machine has no memory for one.
        this.#most = Math.max(1, this.#all.size + this.#starting);
        if (this.#all.size + this.#starting === 0) this.#fail(error);
      }
    }
    // Work that came after a stop waits for this one as well: it counts among those that start.
    this.#go();
  }

  #died(simulator: Connection, reason: string): void {
    if (!this.#all.delete(simulator)) return;
    this.#free = this.#free.filter((each) => each !== simulator);
    simulator.stop();
    this.#tell();
    if (++this.#deaths >= MOST_DEATHS) this.#fail(new Error(reason));
    this.#go();
  }

  #fail(error: unknown): void {
    const waiting = this.#queue;
    this.#queue = [];
    this.#deaths = 0;
    for (const piece of waiting) piece.reject(error);
  }

  #tell(): void {
    this.size.value = this.#all.size;
  }
}
