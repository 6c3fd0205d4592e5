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

/** The text that the link in the address is of. */
let linked: string | null = null;

/** Tells that the address has a link of a text. It is in the address until the text is another one. */
export function linkIsOf(text: string): void {
  linked = text;
}

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
      // No room, or not allowed: then a reload begins anew, and not with what was there long before.
      forget();
    }
  };
  effect(() => {
    state = stateNow();
    if (linked !== null && state.text !== linked) dropLink();
    clearTimeout(timer);
    timer = setTimeout(keep, PAUSE);
  });
  // A reload right after a key has it too; a phone that puts the page away tells no more than this.
  addEventListener("pagehide", keep);
  document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && keep());
}

/** A reload would open the link in place of what came of it. A lab inside another page shows no address, and has the link to be told apart. */
function dropLink(): void {
  linked = null;
  if (location.hash !== "" && window.parent === window) history.replaceState(null, "", location.pathname + location.search);
}

function forget(): void {
  try {
    sessionStorage.removeItem(key());
  } catch {
    // Nothing is kept at all.
  }
}
