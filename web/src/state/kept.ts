/**
 * What is on the page outlives a reload of its tab, where the browser allows the page to keep something: from a file as well.
 *
 * Of this tab alone, so that a new one begins as ever. A link in the address comes first; what was kept beside it is offered.
 */
import { effect } from "@preact/signals";
import { type Shared, fileOf, openedFile } from "./share.ts";
import { stateNow } from "./sharing.ts";

/** One for each address: pages from files share a store, and so do labs that one site shows beside its texts, each with a link of its own. */
const key = (): string => `lanewise-lab ${location.pathname}${location.hash}`;
/** After the last key that was pressed, ms. */
const PAUSE = 400;

/** What the tab had before it was loaded again; null when there is nothing, or when the browser keeps nothing. */
export function keptState(): Shared | null {
  try {
    const opened = openedFile(sessionStorage.getItem(key()) ?? "");
    return opened.kind === "state" ? opened.state : null;
  } catch {
    return null;
  }
}

/** Keeps what is on the page from now on. */
export function keepState(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let state = stateNow();
  const keep = (): void => {
    clearTimeout(timer);
    try {
      sessionStorage.setItem(key(), fileOf(state));
    } catch {
      // No room, or not allowed: then a reload begins anew.
    }
  };
  effect(() => {
    state = stateNow();
    clearTimeout(timer);
    timer = setTimeout(keep, PAUSE);
  });
  // A reload right after a key has it too; a phone that puts the page away tells no more than this.
  addEventListener("pagehide", keep);
  document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && keep());
}
