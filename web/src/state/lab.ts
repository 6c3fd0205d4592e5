/**
 * What the page does: starts the simulator, follows edits of the text, and plays runs.
 *
 * An edit is resolved; if it is sound it is drawn. A run under way takes over values that may change while it goes on;
 * what may not makes it outdated. A small rig is simulated to its end after every edit.
 */
import { batch, effect } from "@preact/signals";
import type { Connection, Explain } from "lanewise";
import { rigOf } from "../rig/topology.ts";
import { startSimulator } from "../simulator/client.ts";
import { FULL_SPEED, type Listener, Player } from "../simulator/player.ts";
import { changesBetween } from "../toml/changes.ts";
import { readToml } from "../toml/edit.ts";
import { isTooLong } from "../toml/limit.ts";
import { edit, isWhole } from "./editing.ts";
import { changedValues } from "./difference.ts";
import { grown } from "./history.ts";
import { inWords, mistakesOf } from "./problems.ts";
import * as store from "./store.ts";

/** After the last key that was pressed, ms. */
const PAUSE_BEFORE_READING = 80;
/** Devices that a rig has at most to be simulated by itself. */
export const SMALL = 20;
/** For the first result, ms: what else there is to ask does not wait longer. */
const PATIENCE = 1500;
/** Times that a worker is started again. */
const MOST_STARTS = 5;

let simulator: Connection | null = null;
let player: Player | null = null;
/** Resolved, of the text that the run is of. */
let running: Explain | null = null;
/** That text, and what its file is called. */
let runningText: string | null = null;
let runningFile = "";
/** A text that is to be run when it has been read. */
let wanted: string | null = null;
let edits = 0;
let starts = 0;

/** The simulator, for views that ask it something else. */
export function connection(): Connection | null {
  return simulator;
}

/** Starts the simulator, and follows the text from then on. */
export async function startLab(): Promise<void> {
  if (!(await connected())) return;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isFirst = true;
  effect(() => {
    const text = store.text.value;
    clearTimeout(timer);
    timer = setTimeout(() => void follow(text), isFirst || isWhole.value ? 0 : PAUSE_BEFORE_READING);
    isFirst = isWhole.value = false;
  });
}

/** Whether there is a simulator now. */
async function connected(): Promise<boolean> {
  try {
    simulator = await startSimulator((reason) => void startAgain(reason));
  } catch (error) {
    tellFault(`The simulator does not start: ${inWords(error)}. The scenario is kept in the editor.`);
    return false;
  }
  player = new Player(simulator, listener);
  store.isReady.value = true;
  return true;
}

/** A worker that is no more takes its run with it, and nothing else. */
async function startAgain(reason: string): Promise<void> {
  store.isReady.value = false;
  player?.pause();
  simulator?.stop();
  [simulator, player] = [null, null];
  forgetRun();
  const isBack = ++starts <= MOST_STARTS && (await connected());
  if (isBack) void learnWords();
  tellFault(`The simulator stopped: ${reason}. ${isBack ? "It was started again; its run is lost." : "Save the scenario and load the page again."}`);
}

/** What completion and the parts know: asked for when the first result is there, which is what one waits for. */
export async function learnWords(): Promise<void> {
  await firstResult();
  const asked = simulator;
  if (!asked || store.schema.value) return;
  try {
    const schema = await asked.scenarioSchema();
    store.parts.value = (await asked.parts()).parts;
    store.schema.value = schema;
  } catch (error) {
    await new Promise((resolve) => setTimeout(resolve));
    // Its worker died meanwhile, which is told; the next one is asked.
    if (simulator !== asked) return;
    tellFault(`The schema of scenarios cannot be read: ${inWords(error)}`);
  }
}

/** The first run is over, or there is none to wait for. */
function firstResult(): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, PATIENCE);
    const stop = effect(() => {
      if (store.runsEnded.value === 0 && store.mistakes.value.length === 0) return;
      clearTimeout(timer);
      resolve();
    });
    setTimeout(stop, PATIENCE);
  });
}

/** Shows another scenario. What was there can be undone in the editor. */
export function open(text: string, name: string): void {
  store.fileName.value = name;
  store.selected.value = null;
  store.text.value = text;
}

/** Plays at the chosen speed: from the start, or from where it was paused. */
export async function play(): Promise<void> {
  if (!isOnItsWay() && !(await begin())) return;
  if (player) player.speed = store.speed.value;
  player?.play();
}

/** Another speed, of a run that plays as well. */
export function chooseSpeed(speed: number): void {
  store.speed.value = speed;
  if (player) player.speed = speed;
}

export function pause(): void {
  player?.pause();
  if (store.runStage.value === "playing") store.runStage.value = "paused";
}

/** Goes on to the end as fast as it can. */
export async function toTheEnd(): Promise<void> {
  if (!isOnItsWay() && !(await begin())) return;
  if (!player) return;
  player.speed = FULL_SPEED;
  player.play();
}

/** To the next packet. */
export async function stepPacket(): Promise<void> {
  pause();
  if (!isOnItsWay() && !(await begin())) return;
  await player?.packet();
}

/** Whether a run of the text as it is has begun, and is not over. */
function isOnItsWay(): boolean {
  const isGoing = store.runStage.value === "playing" || store.runStage.value === "paused";
  return isGoing && !store.isOutdated.value && player?.hasRun === true;
}

/** Makes the scenario another text, in an edit that can be undone, and runs that as soon as it has been read. */
export function editAndRun(text: string): void {
  const before = store.text.value;
  edit(changesBetween(before, text));
  if (store.text.value !== before) wanted = store.text.value;
  else if (!store.resultsOfText.value) void toTheEnd();
}

/** Back to the start, at rest. */
export async function restart(): Promise<void> {
  pause();
  await begin();
}

const listener: Listener = {
  looked(state, step) {
    const isOnePacket = store.runStage.value === "paused";
    batch(() => {
      store.live.value = state;
      store.lastStep.value = step;
      store.isOnePacket.value = isOnePacket;
      if (!isOnePacket) store.history.value = grown(store.history.value, state);
    });
  },
  ended(results) {
    batch(() => {
      store.results.value = results;
      store.resultsText.value = runningText;
      store.runsEnded.value++;
      store.runStage.value = "over";
    });
  },
  playing(isPlaying) {
    if (isPlaying) store.runStage.value = "playing";
    else if (store.runStage.value === "playing") store.runStage.value = "paused";
  },
  failed(error) {
    forgetRun();
    tellFault(`The run cannot go on: ${inWords(error)}`);
  },
};

/** A run of the text as it is, at its start. False where there is none, or where another one was begun meanwhile. */
async function begin(): Promise<boolean> {
  if (!player || !store.isSound.value) return false;
  const explained = store.explained.value;
  const text = store.text.value;
  const asked = player;
  try {
    if (!(await asked.begin({ text, path: store.fileName.value, keepsGoing: store.keepsGoing.value }))) return false;
  } catch (error) {
    // Its worker died meanwhile, which was told.
    if (player !== asked) return false;
    forgetRun();
    tellFault(`The run does not begin: ${inWords(error)}`);
    return false;
  }
  if (player !== asked) return false;
  batch(() => {
    forgetRun();
    store.runStage.value = "paused";
  });
  [running, runningText, runningFile] = [explained, text, store.fileName.value];
  return true;
}

/** There is no run: what the last one gave would pass as that of the text. */
function forgetRun(): void {
  [running, runningText] = [null, null];
  batch(() => {
    store.runStage.value = "none";
    store.isOutdated.value = false;
    store.live.value = null;
    store.lastStep.value = null;
    store.results.value = null;
    store.resultsText.value = null;
    store.history.value = { times: [], flows: {} };
  });
}

/** What an edit of the text leads to. */
async function follow(text: string): Promise<void> {
  const edit = ++edits;
  const isWanted = wanted === text;
  wanted = null;
  if (!simulator) return;
  if (isTooLong(text)) return tellTooLong(text);
  try {
    const path = store.fileName.value;
    const explained = await simulator.explain(text, { path });
    if (edit !== edits) return;
    store.mistakes.value = [];
    store.remarks.value = explained.remarks;
    store.explained.value = explained;
    store.written.value = readToml(text) ?? {};
    store.rig.value = rigOf(explained, store.written.value);
    if (store.notice.value?.kind === "fault") store.notice.value = null;
    await takeOver(explained, text, isWanted);
  } catch (error) {
    if (edit !== edits) return;
    const mistakes = mistakesOf(error);
    if (mistakes) batch(() => ((store.mistakes.value = mistakes), (store.remarks.value = [])));
    else tellFault(`The scenario cannot be read: ${inWords(error)}`);
  }
}

/** What the run that there is does about the new values, and whether a new one begins: where it is wanted, or by itself. */
async function takeOver(explained: Explain, text: string, isWanted: boolean): Promise<void> {
  const stage = store.runStage.value;
  if (running && (stage === "playing" || stage === "paused")) {
    const values = changedValues(running, explained);
    if (values && (await changeAll(values))) {
      [running, runningText] = [explained, text];
      store.isOutdated.value = false;
      return;
    }
    // It may have taken some of them: then it is of no text at all.
    if (values) running = null;
  }
  store.isOutdated.value = stage !== "none";
  if (isWanted || (store.runsByItself.value && (store.rig.value?.count ?? Infinity) <= SMALL)) return toTheEnd();
  // What another rig gave would pass as that of this one.
  if (runningFile !== store.fileName.value) {
    pause();
    forgetRun();
  }
}

/** Whether the run took over every value. One that it refuses leaves it as it is, and outdated. */
async function changeAll(values: { path: string; value: string }[]): Promise<boolean> {
  for (const { path, value } of values) {
    try {
      await player?.change(path, value);
    } catch (error) {
      if (mistakesOf(error)) return false;
      throw error;
    }
  }
  return true;
}

/** A mistake like others: nothing runs, and what is shown is of the text before. */
function tellTooLong(text: string): void {
  const message = `This text has ${text.length.toLocaleString("en")} characters, which no scenario has. It was not read.`;
  batch(() => {
    store.mistakes.value = [{ message, code: "file-too-large", path: null, line: null, column: null, hint: null }];
    store.remarks.value = [];
    store.isOutdated.value = store.runStage.value !== "none";
  });
  tellFault(message);
}

function tellFault(text: string): void {
  store.notice.value = { kind: "fault", text };
}
