/** Undo and redo, a link, and files out and in. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { depths, redoEdit, undoEdit } from "../state/editing.ts";
import { open } from "../state/lab.ts";
import { linkIsOf } from "../state/kept.ts";
import { LONGEST, fileOf, isStateFile, linkOf, openedFile } from "../state/share.ts";
import { show, stateNow } from "../state/sharing.ts";
import { fileName, notice, results, rig, tab, text } from "../state/store.ts";
import { LONGEST_STATE, LONGEST_TEXT } from "../toml/limit.ts";
import { pictureOf } from "./picture.ts";

const isCopied = signal(false);

export function Files() {
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => closing(menu.current as HTMLDetailsElement), []);
  // What can be undone follows from the text.
  const { undo, redo } = (text.value, depths());
  return (
    <div class="files" role="toolbar" aria-label="Edit and share">
      <button id="undo" disabled={undo === 0} onClick={undoEdit}>
        Undo
      </button>
      <button id="redo" disabled={redo === 0} onClick={redoEdit}>
        Redo
      </button>
      <button id="share" onClick={() => void share()}>
        {isCopied.value ? "Link copied" : "Copy a link"}
      </button>
      <details class="menu" ref={menu}>
        <summary>Files</summary>
        <div>
          <button id="save-toml" onClick={() => save(fileName.value, "application/toml", text.value)}>
            Scenario (TOML)
          </button>
          <button id="save-json" disabled={!results.value} onClick={() => save(named("json"), "application/json", JSON.stringify(results.value, null, 2))}>
            Results (JSON)
          </button>
          <button id="save-svg" disabled={!rig.value || tab.value !== "rig"} title="The picture that is on the tab Rig" onClick={() => save(named("svg"), "image/svg+xml", pictureOf())}>
            Picture (SVG)
          </button>
          <button id="save-state" onClick={saveState}>
            All of this page (JSON)
          </button>
          <label class="file">
            Open a scenario, or all of a page…
            <input type="file" accept=".toml,.json,text/plain" onChange={(event) => void read(event.currentTarget)} />
          </label>
        </div>
      </details>
    </div>
  );
}

/** A menu closes when something else is pressed or has the keyboard, when a file is chosen in it, and with Escape; returns what ends that. */
function closing(menu: HTMLDetailsElement): () => void {
  const close = (): void => void (menu.open = false);
  const elsewhere = (event: Event): void => void (event.target instanceof Node && !menu.contains(event.target) && close());
  const escape = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || !menu.open) return;
    close();
    menu.querySelector("summary")?.focus();
  };
  document.addEventListener("pointerdown", elsewhere);
  document.addEventListener("focusin", elsewhere);
  menu.addEventListener("keydown", escape);
  menu.addEventListener("change", close);
  return () => {
    document.removeEventListener("pointerdown", elsewhere);
    document.removeEventListener("focusin", elsewhere);
  };
}

function named(ending: string): string {
  return fileName.value.replace(/\.toml$/, "") + `.${ending}`;
}

/** Puts the state into the address, and the address onto the clipboard where the page may. */
async function share(): Promise<void> {
  const state = stateNow();
  const link = await linkOf(state);
  if (!link) {
    const needs = `All of this page needs a link of more than ${LONGEST.toLocaleString("en")} characters, which many programs cut.`;
    notice.value = { kind: "word", text: `${needs} A file holds it, and opens it again.`, offer: { label: "Save the file", press: saveState } };
    return;
  }
  history.replaceState(null, "", link);
  linkIsOf(state.text);
  try {
    await navigator.clipboard.writeText(location.href);
    isCopied.value = true;
    setTimeout(() => (isCopied.value = false), 2000);
  } catch {
    notice.value = { kind: "word", text: "The link is in the address bar; this page may not use the clipboard." };
  }
}

function saveState(): void {
  save(named("lab.json"), "application/json", fileOf(stateNow()));
}

/** Offers a file to keep. */
export function save(name: string, type: string, content: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

async function read(input: HTMLInputElement): Promise<void> {
  const file = await chosenFile(input);
  if (!file) return;
  if (isStateFile(file.text)) show(openedFile(file.text));
  else open(file.text, file.name);
}

/** The file that was chosen; null, and a word of it, where it is longer than any that this page has to do with, or no text. */
export async function chosenFile(input: HTMLInputElement): Promise<{ text: string; name: string } | null> {
  const file = input.files?.[0];
  input.value = "";
  if (!file) return null;
  if (file.size > (file.name.endsWith(".json") ? LONGEST_STATE : LONGEST_TEXT)) {
    notice.value = { kind: "word", text: `${file.name} has ${file.size.toLocaleString("en")} bytes, which no scenario has. It was not read.` };
    return null;
  }
  const text = await file.text();
  // Letters that no text has, or that were none in UTF-8.
  if (/[\0\uFFFD]/.test(text)) {
    notice.value = { kind: "word", text: `${file.name} is not text in UTF-8, as scenarios are. It was not read, and nothing was changed.` };
    return null;
  }
  return { text, name: file.name };
}
