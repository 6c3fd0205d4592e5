/**
 * Plays a session: in slices, so that it can be stopped, looked at and changed between any two.
 *
 * What is asked of the simulator takes a few milliseconds at a time, whatever the speed. Slices change nothing: a run in pieces
 * is the run in one piece, event for event.
 */
import type { Changed, Connection, Results, Session, State, Step } from "lanewise";

/** What a player tells of itself. */
export interface Listener {
  /** Something was simulated. */
  looked(state: State, step: Step): void;
  /** The run is over; `results` are complete. */
  ended(results: Results): void;
  /** It plays or pauses. */
  playing(isPlaying: boolean): void;
  /** A call failed. The session is of no use any more. */
  failed(error: unknown): void;
}

export interface Start {
  text: string;
  path: string;
  /** Goes on after its results are narrow enough. */
  keepsGoing: boolean;
}

/** As fast as it can. */
export const FULL_SPEED = Number.POSITIVE_INFINITY;

/** Between two looks, ms: twelve pictures a second are movement, and can still be read. */
const LOOK_MS = 80;
/** What a slice at full speed should take, ms. */
const SLICE_MS = 25;
/** Events that one press of "step" looks through for a packet. */
const STEP_EVENTS = 3000;

export class Player {
  /** Simulated seconds in one second. */
  speed = FULL_SPEED;
  #simulator: Connection;
  #listener: Listener;
  #session: Session<false> | null = null;
  #events = 5000;
  #isPlaying = false;
  /** Grows with each start and stop, so that what was asked before is dropped. */
  #turn = 0;
  /** Grows with each start. */
  #begun = 0;

  constructor(simulator: Connection, listener: Listener) {
    this.#simulator = simulator;
    this.#listener = listener;
  }

  get isPlaying(): boolean {
    return this.#isPlaying;
  }

  /** Whether there is a run: none while one begins. */
  get hasRun(): boolean {
    return this.#session !== null;
  }

  /** Puts a scenario at rest at its start; false where another one was begun meanwhile. */
  async begin(start: Start): Promise<boolean> {
    const mine = ++this.#begun;
    this.#turn++;
    this.#setPlaying(false);
    const before = this.#session;
    this.#session = null;
    await before?.close().catch(() => undefined);
    if (mine !== this.#begun) return false;
    try {
      const session = await this.#simulator.session(start.text, { path: start.path, ends_when_narrow: !start.keepsGoing });
      if (mine === this.#begun) this.#session = session;
      else await session.close();
    } catch (error) {
      if (mine === this.#begun) throw error;
    }
    return mine === this.#begun;
  }

  /** Goes on until it is paused or over. */
  play(): void {
    if (this.#isPlaying || !this.#session) return;
    this.#setPlaying(true);
    void this.#guarded(() => this.#loop());
  }

  pause(): void {
    this.#turn++;
    this.#setPlaying(false);
  }

  /** Goes on until a packet is sent somewhere, for so many events at most; how far it came is shown where none was. */
  async packet(): Promise<void> {
    this.pause();
    await this.#guarded(async (turn) => {
      for (let event = 0; event < STEP_EVENTS && turn === this.#turn; event++) {
        const step = await this.#stepped({ events: 1 });
        if (step.over) return this.#finish(step);
        const state = await this.#state();
        if (!hasSent(state) && event < STEP_EVENTS - 1) continue;
        this.#listener.looked(state, step);
        return;
      }
    });
  }

  /** Changes a parameter from now on. */
  async change(path: string, value: string): Promise<Changed | null> {
    return this.#session ? this.#session.change(path, value) : null;
  }

  /** Results so far. */
  async results(): Promise<Results | null> {
    return this.#session ? this.#session.results() : null;
  }

  async #loop(): Promise<void> {
    const turn = this.#turn;
    let before = performance.now();
    let lookedFrom = before;
    while (this.#isPlaying && turn === this.#turn) {
      const step = this.speed === FULL_SPEED ? await this.#fast(lookedFrom) : await this.#slow(before, (now) => (before = now));
      if (turn !== this.#turn) return;
      if (step.over) return this.#finish(step);
      lookedFrom = performance.now();
      const state = await this.#state();
      if (turn !== this.#turn) return;
      this.#listener.looked(state, step);
    }
  }

  /**
   * For the time between two looks, in slices that grow and shrink with what the machine can do.
   *
   * The picture of a large rig takes longer than a slice. It is drawn while the first slice is simulated, whose length then says nothing of
   * the simulator; and for twice as long the run goes on without another one.
   */
  async #fast(lookedFrom: number): Promise<Step> {
    let until = performance.now() + LOOK_MS;
    for (let slice = 0; ; slice++) {
      const start = performance.now();
      const step = await this.#stepped({ events: this.#events });
      const now = performance.now();
      const fitting = (this.#events * SLICE_MS) / Math.max(now - start, 0.5);
      this.#events = Math.round(Math.min(1e6, Math.max(500, slice === 0 ? Math.max(this.#events, fitting) : fitting)));
      if (slice === 0) until = Math.max(until, now + 2 * (now - lookedFrom - SLICE_MS));
      if (step.over || now >= until || !this.#isPlaying) return step;
    }
  }

  /** As far as the clock on the wall has come, times the speed. */
  async #slow(before: number, looked: (now: number) => void): Promise<Step> {
    // It may be another one when the wait is over.
    const speed = this.speed;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS - (performance.now() - before)));
    const now = performance.now();
    // A page that was in the background does not make up for it.
    const wall = Math.min(now - before, 4 * LOOK_MS) / 1000;
    looked(now);
    const picoseconds = Math.max(1, Math.round(wall * speed * 1e12));
    return this.#stepped({ span: `${picoseconds} ps`, events: 1e6 });
  }

  async #finish(step: Step): Promise<void> {
    this.#listener.looked(await this.#state(), step);
    const results = await this.results();
    this.#setPlaying(false);
    if (results) this.#listener.ended(results);
  }

  #stepped(step: { span?: string; events?: number }): Promise<Step> {
    return this.#open().step(step);
  }

  #state(): Promise<State> {
    return this.#open().state();
  }

  #open(): Session<false> {
    if (!this.#session) throw new Error("there is no run");
    return this.#session;
  }

  async #guarded(work: (turn: number) => Promise<void>): Promise<void> {
    const turn = this.#turn;
    try {
      await work(turn);
    } catch (error) {
      if (turn !== this.#turn) return;
      this.#session = null;
      this.pause();
      this.#listener.failed(error);
    }
  }

  #setPlaying(isPlaying: boolean): void {
    if (this.#isPlaying === isPlaying) return;
    this.#isPlaying = isPlaying;
    this.#listener.playing(isPlaying);
  }
}

function hasSent(state: State): boolean {
  return state.links.some((link) => link.upstream.tlps_per_s > 0 || link.downstream.tlps_per_s > 0);
}
