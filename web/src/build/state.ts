/** What is being built: the palette, what is dragged, and what the core said of the last act. All else is the text. */
import { signal } from "@preact/signals";
import type { Explain, NegotiatedLink, Part } from "lanewise";
import { edit } from "../state/editing.ts";
import { connection } from "../state/lab.ts";
import { inWords, mistakesOf } from "../state/problems.ts";
import { explained, fileName, isReady, isSound, rig, selected, text } from "../state/store.ts";
import { type Rig, groupOf } from "../rig/topology.ts";
import { changesBetween } from "../toml/changes.ts";
import { type Act, everyDevice, freePorts, moved, oneMore } from "./acts.ts";
import { without, withoutWorkload } from "./deleting.ts";

/** The palette is on the page. */
export const isPaletteOpen = signal(false);
/** The form of a workload is on the page. */
export const isWorkOpen = signal(false);
/** Where the next part goes: a free port, a device to hang on; null for where it fits first. */
export const place = signal<string | null>(null);

/** What the last act did, or why it was not done. */
export interface Word {
  kind: "done" | "refused";
  text: string;
  /** The scenario that the act gave: as long as it is that, the next undo is of this act. */
  gave?: string;
}
export const word = signal<Word | null>(null);

/** What the core says of a text that an act would give. */
export type Verdict = { fits: true; explained: Explain } | { fits: false; why: string };

/** Asks it. */
export async function judged(after: string): Promise<Verdict> {
  const simulator = connection();
  if (!simulator) return { fits: false, why: "The simulator does not answer yet." };
  try {
    return { fits: true, explained: await simulator.explain(after, { path: fileName.value }) };
  } catch (error) {
    const mistakes = mistakesOf(error);
    if (!mistakes) return { fits: false, why: inWords(error) };
    // What is wrong first is why; the rest often follows from it.
    const [first] = mistakes;
    return { fits: false, why: first ? [first.message, first.hint && `Hint: ${first.hint}`].filter(Boolean).join(". ") : "" };
  }
}

/** Does the first of some acts, on the text `before`, that gives a sound text; else says why the first does not. A text is why one cannot be. */
export async function perform(acts: readonly (Act | string | null)[], before = text.value): Promise<boolean> {
  let refused = "The text has no place for it. Write it in the editor.";
  for (const act of acts.filter((each) => each !== null)) {
    if (typeof act === "string") {
      if (act === acts.find((each) => each !== null)) refused = act;
      continue;
    }
    const verdict = await judged(act.text);
    if (verdict.fits) {
      // What was typed meanwhile stays.
      if (text.value !== before) {
        word.value = { kind: "refused", text: "Not done: the text changed meanwhile. Do it again." };
        return false;
      }
      edit(changesBetween(before, act.text));
      selected.value = act.device;
      word.value = { kind: "done", text: [act.said, cameUp(verdict.explained, act.device)].filter(Boolean).join(" "), gave: act.text };
      return true;
    }
    if (act === acts.find((each) => each !== null)) refused = verdict.why;
  }
  word.value = { kind: "refused", text: `Not done: ${refused}` };
  return false;
}

/** How the link of a device comes up, in words: what holds it down is said. */
export function cameUp(explained: Explain, device: string | null): string {
  const link = explained.links.find((each) => each.lower === device);
  return link ? `It comes up as ${link.generation} ${link.width}${limitOf(link)}.` : "";
}

/** What it is plugged into, where that is less than the device has. */
function limitOf(link: NegotiatedLink): string {
  const itself = `${groupOf(link.lower)}.`;
  const limits = new Set([link.width_limited_by, link.generation_limited_by].filter((each) => each !== "both ends" && !`${each}.`.startsWith(itself)));
  return limits.size > 0 ? `, limited by ${[...limits].join(" and ")}` : "";
}

/** Places for a part: free ports; for what hangs on a device, the devices. */
export function placesFor(part: Part): string[] {
  const all = rig.value;
  if (!all || part.kind === "host") return [];
  if (part.kind === "system") return all.roots.map((root) => root.name);
  if (part.kind === "storage") return everyDevice(all).flatMap((each) => (each.kind === "endpoint" ? [each.name] : []));
  return freePorts(all, null);
}

/**
 * Whether what is on the page can be built on: it is drawn from the last text that was read, and that had no mistakes.
 *
 * A letter that was just typed is not read yet: an act then is of the text with it and of the picture without, and the core judges it.
 */
export function canBuild(): boolean {
  return rig.value !== null && isSound.value && isReady.value;
}

/** An act; none on a text that was broken since it was drawn. */
export function attempted<Done>(act: (text: string, rig: Rig) => Done): Done | null {
  try {
    return canBuild() && rig.value ? act(text.value, rig.value) : null;
  } catch {
    return null;
  }
}

export async function deleteDevice(device: string): Promise<void> {
  if (canBuild() && (await perform([attempted((now, all) => without(now, device, all))]))) focusAgain(".rig-scroll");
}

export async function deleteWorkload(index: number): Promise<void> {
  if (canBuild() && (await perform([attempted((now) => withoutWorkload(now, index))]))) focusAgain("#open-work");
}

/** Closes the parts, and gives the keyboard back to what opened them. */
export function closePalette(): void {
  isPaletteOpen.value = false;
  focusAgain("#open-parts");
}

export function closeWork(): void {
  isWorkOpen.value = false;
  focusAgain("#open-work");
}

/** What goes with what was done, or will as soon as that is drawn. */
const GOING = "body, .rig .box, .chosen *, .palette *, .work-form *";

/** What has the keyboard goes: then something near gets it, and not the top of the page. */
function focusAgain(selector: string): void {
  requestAnimationFrame(() => {
    if (document.activeElement?.matches(GOING)) document.querySelector<HTMLElement>(selector)?.focus({ preventScroll: true });
  });
}

export async function moveDevice(device: string, port: string): Promise<void> {
  if (canBuild()) await perform([attempted((now, all) => moved(now, device, port, all))]);
}

/** One more of it: as a group where the core takes that and the others stay where they are. */
export async function addOneMore(device: string): Promise<void> {
  if (!canBuild()) return;
  const before = text.value;
  const acts = attempted((now, all) => oneMore(now, device, all)) ?? [];
  const upper = explained.value?.links.find((link) => link.lower === device)?.upper;
  const [first] = acts;
  // A group takes the next free ports: a device that would leave its own for that gets a section beside it instead.
  if (first && acts.length > 1 && upper) {
    const verdict = await judged(first.text);
    if (verdict.fits && !verdict.explained.links.some((link) => link.upper === upper)) acts.shift();
  }
  await perform(acts, before);
}
