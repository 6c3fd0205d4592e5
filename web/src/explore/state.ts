/**
 * An exploration: one or two parameters, values of each, a number to look at; and the points, which several simulators compute.
 *
 * A point is the scenario's text with values set beside it, as `lanewise run --set` does. The settings are chosen here and go into links;
 * the points do not.
 */
import { batch, computed, effect, signal } from "@preact/signals";
import type { Connection } from "lanewise";
import { GivenUp } from "../simulator/pool.ts";
import { simulators } from "../simulator/simulators.ts";
import { edit } from "../state/editing.ts";
import { inWords, mistakesOf } from "../state/problems.ts";
import { keepInLinks } from "../state/sharing.ts";
import * as store from "../state/store.ts";
import { changesBetween } from "../toml/changes.ts";
import { isTooLong } from "../toml/limit.ts";
import type { Keys } from "../toml/place.ts";
import { at as valueAt } from "../toml/plain.ts";
import { type Meaning, meaningOf } from "../toml/schema.ts";
import { basisOf, placeOf, textWith } from "./basis.ts";
import { type Axis, type GridPoint, MOST_POINTS, countOf, keyOf, pointAt, pointsOf } from "./grid.ts";
import { type Metric, TOTAL, digestOf } from "./metrics.ts";
import { type Found, type FoundPoints, foundAt, rowsOf, timeLeft } from "./points.ts";
import { quantityOf } from "./quantity.ts";
import { nearest, valuesAround } from "./ranges.ts";
import { type Settings, readSettings } from "./settings.ts";

export const TAB = "explore";

/** One or two; none until one was chosen. */
export const axes = signal<Axis[]>([]);
export const metric = signal<Metric>(TOTAL);
/** Places on the axes of the point that is looked at. */
export const chosen = signal<number[]>([]);

export const found = signal<FoundPoints>(new Map());
/** What the points are of: the text but for the parameters, and its name. */
const basis = signal<string | null>(null);

/** A computation that goes on, or the last one. */
export interface Progress {
  isGoing: boolean;
  done: number;
  all: number;
  /** When it began, ms of the page's clock. */
  since: number;
  /** What it took so far, s. */
  seconds: number;
}
export const progress = signal<Progress | null>(null);

export const rows = computed(() => rowsOf(axes.value, found.value));
export const point = computed<GridPoint | null>(() => pointAt(axes.value, chosen.value));
export const pointFound = computed<Found | null>(() => point.value && foundAt(found.value, point.value.overrides));
export const count = computed(() => countOf(axes.value));
export const isTooMany = computed(() => count.value > MOST_POINTS);
/** The scenario has no longer what is to be varied. */
export const isUnknown = computed(() => axes.value.some(({ path }) => inForce(path) === undefined));
/** There are points, and they are of another text. */
export const isOutdated = computed(() => found.value.size > 0 && basis.value !== basisNow());
export const left = computed(() => progress.value && timeLeft(progress.value.done, progress.value.all, progress.value.seconds));

/** What nobody has chosen: another scenario has something else to begin with. */
let begunWith: Axis[] = [];

const pool = simulators();
/** Simulators that are there. */
export const workers = pool.size;

/** Parameters that can be chosen: all that have one value. */
export const paths = computed(() => (store.explained.value?.parameters ?? []).filter((each) => !each.value.startsWith("[")).map((each) => each.path));

/** The value in force of a parameter; undefined where there is none of the name. */
export function inForce(path: string): string | undefined {
  return store.explained.value?.parameters.find((each) => each.path === path)?.value;
}

/** What the schema says of a parameter. */
export function meaning(path: string): Meaning | null {
  const place = placeOf(path, store.written.value);
  return place && meaningAt([...place.keys, ...place.rest]);
}

/** Explores other values of the same or of other parameters; the point that is looked at is then what is in force, or the nearest place. */
export function setAxes(next: Axis[]): void {
  const isOther = next.map(({ path }) => path).join() !== axes.value.map(({ path }) => path).join();
  batch(() => {
    // A point that is looked at is computed without progress; of other parameters it would be a point of this exploration.
    if (isOther || progress.value?.isGoing) stop();
    progress.value = null;
    if (isOther) found.value = new Map();
    axes.value = next;
    chosen.value = next.map(({ path, values }) => nearest(values, inForce(path)));
  });
}

/** Another parameter, with values around the one in force; none for no second one. */
export function choosePath(index: number, path: string | null): void {
  const value = path === null ? undefined : inForce(path);
  if (path === null) setAxes(axes.value.slice(0, index));
  else if (value !== undefined) setAxes([...axes.value.slice(0, index), { path, values: valuesAround(value, meaning(path)) }, ...axes.value.slice(index + 1)]);
}

export function setValues(index: number, values: string[]): void {
  setAxes(axes.value.map((axis, each) => (each === index ? { ...axis, values } : axis)));
}

export function choose(at: number[]): void {
  chosen.value = at;
}

/** Computes what is missing of the grid, and what a fault of the simulator kept from being computed. */
export async function start(): Promise<void> {
  if (!store.isSound.value || isTooMany.value || isUnknown.value) return;
  freshen();
  const points = pointsOf(axes.value).filter(({ overrides }) => isMissing(foundAt(found.value, overrides)));
  const mine: Progress = { isGoing: true, done: 0, all: points.length, since: performance.now(), seconds: 0 };
  progress.value = mine;
  const each = points.map(async (one) => {
    const isDone = await compute(one, false);
    const now = progress.peek();
    if (isDone && now?.since === mine.since) progress.value = { ...now, done: now.done + 1, seconds: (performance.now() - mine.since) / 1000 };
  });
  await Promise.all(each);
  if (progress.peek()?.since === mine.since) progress.value = { ...(progress.peek() as Progress), isGoing: false };
}

/** Computes the point that is looked at, before all others. */
export async function computeChosen(): Promise<void> {
  if (!point.value || !store.isSound.value) return;
  freshen();
  if (isMissing(pointFound.value)) await compute(point.value, true);
}

/** Stops, and ends the simulators. Points that are there stay. */
export function stop(): void {
  pool.stop();
  if (progress.value) progress.value = { ...progress.value, isGoing: false };
}

/** Writes the point that is looked at into the text. */
export function takeOver(): void {
  const text = store.text.value;
  const next = point.value && textWith(text, point.value.overrides, isBare);
  if (next === null || next === undefined) {
    store.notice.value = { kind: "word", text: "This point cannot be written into the text as it is. Write its values in the editor." };
  } else if (next !== text) edit(changesBetween(text, next));
}

/** Chooses something to begin with when the tab is shown for the first time. */
export function startExploring(): void {
  keepInLinks(TAB, { save: () => (isChosen() ? { axes: axes.value, metric: metric.value, at: chosen.value } : undefined), read });
  effect(() => {
    const isNew = axes.value.length === 0 || (axes.value === begunWith && inForce(begunWith[0]?.path ?? "") === undefined);
    const path = store.tab.value === TAB && isNew && store.schema.value ? firstPath() : null;
    if (path === null) return;
    choosePath(0, path);
    begunWith = axes.peek();
  });
}

/** Whether there is anything of an exploration that a page does not begin with by itself. */
function isChosen(): boolean {
  return axes.value.length > 0 && (axes.value !== begunWith || found.value.size > 0 || metric.value !== TOTAL);
}

function read(saved: unknown): (() => void) | null {
  const settings: Settings | null = saved === undefined ? { axes: [], metric: TOTAL, at: [] } : readSettings(saved);
  if (!settings) return null;
  return () => {
    stop();
    axes.value = settings.axes;
    metric.value = settings.metric;
    chosen.value = settings.at;
    found.value = new Map();
    progress.value = null;
  };
}

/** Forgets points of another text. */
function freshen(): void {
  const now = basisNow();
  if (basis.value === now) return;
  stop();
  batch(() => {
    basis.value = now;
    found.value = new Map();
  });
}

function basisNow(): string {
  // To find parameters in it takes seconds then, and nothing is computed of it.
  if (isTooLong(store.text.value)) return `${store.fileName.value}\n${store.text.value}`;
  return `${store.fileName.value}\n${basisOf(store.text.value, axes.value)}`;
}

function isMissing(state: Found | null): boolean {
  return state === null || (state.state === "failed" && state.isWorthAnother);
}

/** Whether it came to something. */
async function compute({ overrides }: GridPoint, isNext: boolean): Promise<boolean> {
  const [text, path, of] = [store.text.peek(), store.fileName.peek(), basis.peek()];
  const key = keyOf(overrides);
  const put = (state: Found | null): void => {
    if (basis.peek() !== of) return;
    const next = new Map(found.peek());
    if (state) next.set(key, state);
    else next.delete(key);
    found.value = next;
  };
  const work = async (simulator: Connection): Promise<Found> => {
    put({ state: "under way" });
    return { state: "done", digest: digestOf(await simulator.run(text, { path, overrides })) };
  };
  try {
    put(await pool.do(work, isNext));
    return true;
  } catch (error) {
    if (error instanceof GivenUp) put(null);
    else put({ state: "failed", words: inWords(error), isWorthAnother: mistakesOf(error) === null });
    return !(error instanceof GivenUp);
  }
}

/** What one tries first: how much is asked for at a time. */
function firstPath(): string | null {
  const wanted = [/^workload\..*\.(outstanding|iodepth|tx_depth|window)$/, /^workload\..*\.(size|bs)$/, /^workload\./, /\.tags$/];
  const isAmount = (path: string): boolean => quantityOf(inForce(path) ?? "") !== null;
  for (const pattern of wanted) {
    const path = paths.value.find((each) => pattern.test(each) && isAmount(each));
    if (path) return path;
  }
  return paths.value.find(isAmount) ?? null;
}

function isBare(keys: Keys, now: unknown): boolean {
  if (now !== undefined) return typeof now === "number" || typeof now === "boolean";
  return meaningAt(keys)?.isBare === true;
}

function meaningAt(keys: Keys): Meaning | null {
  if (!store.schema.value) return null;
  const kind = keys[0] === "workload" ? valueAt(store.written.value, [...keys.slice(0, 2), "kind"]) : null;
  return meaningOf(store.schema.value, keys, typeof kind === "string" ? kind : null);
}
