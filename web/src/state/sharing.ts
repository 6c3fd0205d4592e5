/** What a link or a file of the lab holds of the page: the scenario, the tab, and what is chosen in tabs. */
import { batch } from "@preact/signals";
import { open } from "./lab.ts";
import type { Opened, Shared } from "./share.ts";
import * as store from "./store.ts";

/** What a tab adds. */
export interface Kept {
  /** What is chosen in it, as plain data; undefined where that is nothing. */
  save(): unknown;
  /** What takes it over, undefined for nothing; null where it is none of this tab's. It changes nothing by itself. */
  read(saved: unknown): (() => void) | null;
}

const keeping = new Map<string, Kept>();

/** Has what is chosen in a tab go into links. */
export function keepInLinks(tab: string, kept: Kept): void {
  keeping.set(tab, kept);
}

/** All that is chosen on the page. */
export function stateNow(): Shared {
  const saved = [...keeping].flatMap(([tab, kept]): [string, unknown][] => {
    const value = kept.save();
    return value === undefined ? [] : [[tab, value]];
  });
  const state: Shared = { text: store.text.value, name: store.fileName.value };
  if (store.tab.value !== FIRST) state.tab = store.tab.value;
  if (saved.length > 0) state.tabs = Object.fromEntries(saved);
  return state;
}

/** Shows what a link or a file holds; says why where it cannot, and changes nothing then. */
export function show(opened: Opened): void {
  if (opened.kind === "none") return;
  const takes = opened.kind === "state" ? [...keeping].map(([tab, kept]) => kept.read(opened.state.tabs?.[tab])) : [];
  const isWhole = opened.kind === "state" && takes.every((take) => take !== null);
  if (!isWhole) {
    const text = opened.kind === "refused" ? opened.reason : "What is chosen in its tabs is damaged. Nothing was changed.";
    store.notice.value = { kind: "word", text };
    return;
  }
  batch(() => {
    open(opened.state.text, opened.state.name);
    store.tab.value = opened.state.tab ?? FIRST;
    for (const take of takes) take?.();
  });
}

/** The tab that is shown where none is named. */
const FIRST = "rig";
