/** Keys that do something wherever one is but in a field, and the list of them. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { openPalette } from "../build/palette.tsx";
import { canBuild, isWorkOpen } from "../build/state.ts";
import { redoEdit, undoEdit } from "../state/editing.ts";
import { chooseSpeed, pause, play, restart, stepPacket, toTheEnd } from "../state/lab.ts";
import { isReady, isSound, keepsGoing, runStage, speed } from "../state/store.ts";
import { SPEEDS } from "./run-bar.tsx";

interface Key {
  /** As the browser calls it. */
  key: string;
  /** As one reads it. */
  name: string;
  says: string;
  does: () => void;
  /** Also where the rig and its run are not shown. */
  isEverywhere?: true;
}

const isHelpOpen = signal(false);
/** Speech input types letters, which then should do nothing: WCAG 2.1.4. */
const isOn = signal(true);

const ifRuns = (work: () => void) => (): void => void (isReady.value && isSound.value && work());

const KEYS: readonly Key[] = [
  { key: " ", name: "Space", says: "Play, or pause", does: ifRuns(() => (runStage.value === "playing" ? pause() : void play())) },
  { key: ".", name: ".", says: "Step a packet", does: ifRuns(() => void stepPacket()) },
  { key: "e", name: "e", says: "To steady state", does: ifRuns(() => void (keepsGoing.value || toTheEnd())) },
  { key: "r", name: "r", says: "Restart", does: ifRuns(() => void (runStage.value !== "none" && restart())) },
  { key: "-", name: "−", says: "Slower", does: () => faster(-1) },
  { key: "+", name: "+", says: "Faster", does: () => faster(1) },
  { key: "p", name: "p", says: "Parts of the catalog", does: () => void (canBuild() && openPalette(null)) },
  { key: "w", name: "w", says: "Add a workload", does: () => void (canBuild() && (isWorkOpen.value = true)) },
  { key: "u", name: "u", says: "Undo", does: undoEdit, isEverywhere: true },
  { key: "U", name: "Shift u", says: "Redo", does: redoEdit, isEverywhere: true },
  { key: "?", name: "?", says: "This list", does: () => (isHelpOpen.value = true), isEverywhere: true },
];

/** Others, which belong to a part of the page. */
const OTHERS: readonly [string, string][] = [
  ["Tab, Enter", "Through the picture: a device is chosen, a free port opens the parts"],
  ["Delete", "On a device of the picture: deletes it, with what is attached to it"],
  ["↑ ↓ Enter Esc", "In the parts: another one, add it, close"],
  ["Ctrl Space", "In the text: what may stand there"],
  ["Esc, then Tab", "Leaves the text"],
];

/** Follows the keys, and shows the list when it is asked for. */
export function Keys() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, []);
  useEffect(() => {
    if (isHelpOpen.value && !dialog.current?.open) dialog.current?.showModal();
  }, [isHelpOpen.value]);
  return (
    <>
      <button id="keys" aria-haspopup="dialog" onClick={() => (isHelpOpen.value = true)}>
        Keys
      </button>
      <dialog ref={dialog} class="keys" aria-label="Keys" onClose={() => (isHelpOpen.value = false)}>
        <h2>Keys</h2>
        <dl>
          {[...KEYS.map(({ name, says, isEverywhere }) => [name, isEverywhere ? `${says}, on every tab` : says] as const), ...OTHERS].map(([name, says]) => (
            <div key={name}>
              <dt>
                <kbd>{name}</kbd>
              </dt>
              <dd>{says}</dd>
            </div>
          ))}
        </dl>
        <label>
          <input type="checkbox" checked={isOn.value} onChange={(event) => (isOn.value = event.currentTarget.checked)} /> Single keys do this
        </label>
        <form method="dialog">
          <button class="main">Close</button>
        </form>
      </dialog>
    </>
  );
}

/** Where letters are typed, or where Space and Enter press what has the focus. */
const TYPED = 'input, textarea, select, [contenteditable="true"], .cm-editor, dialog';
const PRESSED = 'button, summary, a, [role="button"], [role="tab"], [role="option"]';

function pressed(event: KeyboardEvent): void {
  const at = event.target instanceof Element ? event.target : document.body;
  if (!isOn.value || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || at.closest(TYPED)) return;
  if (event.key === " " && at.closest(PRESSED)) return;
  const found = KEYS.find(({ key }) => key === event.key);
  if (!found || (!found.isEverywhere && !isRunBarHere())) return;
  event.preventDefault();
  // One press does it once, however long it lasts.
  if (!event.repeat) found.does();
}

function isRunBarHere(): boolean {
  return document.getElementById("play") !== null;
}

function faster(by: number): void {
  const now = SPEEDS.findIndex(([value]) => value === speed.value);
  const next = SPEEDS[Math.min(Math.max(now + by, 0), SPEEDS.length - 1)];
  if (next) chooseSpeed(next[0]);
}
