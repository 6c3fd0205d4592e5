/** What one can do to the rig and to the device that is chosen, without a pointer; and what the last act did. */
import type { ComponentChildren } from "preact";
import { everyDevice, freePorts } from "./acts.ts";
import { drag, saidOfPlace } from "./dragging.ts";
import { Palette, openPalette } from "./palette.tsx";
import { addOneMore, canBuild, deleteDevice, deleteWorkload, isPaletteOpen, isWorkOpen, moveDevice, word } from "./state.ts";
import { WorkloadForm } from "./workload-form.tsx";
import { undoEdit } from "../state/editing.ts";
import { rig, selected, text, written } from "../state/store.ts";
import { keysOf } from "../toml/place.ts";

export function BuildBar() {
  const cannot = !canBuild();
  const work = written.value["workload"];
  const isBare = rig.value !== null && rig.value.roots.every((root) => root.below.length === 0);
  const isIdle = rig.value !== null && !isBare && !(Array.isArray(work) && work.length > 0);
  return (
    <div class="build">
      <div class="build-bar" role="toolbar" aria-label="Build">
        <button id="open-parts" class={isBare ? "main" : ""} aria-expanded={isPaletteOpen.value} disabled={cannot && !isPaletteOpen.value} onClick={() => (isPaletteOpen.value ? (isPaletteOpen.value = false) : openPalette(null))}>
          Parts
        </button>
        <button id="open-work" class={isIdle ? "main" : ""} aria-expanded={isWorkOpen.value} disabled={cannot && !isWorkOpen.value} onClick={() => (isWorkOpen.value = !isWorkOpen.value)}>
          Add a workload
        </button>
        <Chosen isOff={cannot} />
      </div>
      {isBare && <p class="hint">A host alone. Add a part to a free port: Parts, or the + of a port in the picture.</p>}
      {isIdle && <p class="hint">The rig has no workload: nothing moves until you add one.</p>}
      {word.value && (
        <p class={`word ${word.value.kind}`} id="built" role="status">
          {word.value.text}{" "}
          {word.value.gave === text.value && (
            <button class="line" onClick={() => (undoEdit(), (word.value = null))}>
              Undo
            </button>
          )}
        </p>
      )}
      {isWorkOpen.value && <WorkloadForm />}
      {isPaletteOpen.value && <Palette />}
      <Ghost />
    </div>
  );
}

/** The device or the workload that is chosen. */
function Chosen({ isOff }: { isOff: boolean }) {
  const name = selected.value;
  if (!name || !rig.value) return <Hint>Choose a device in the picture to move it, to have one more, or to delete it.</Hint>;
  if (name.startsWith("workload.")) {
    const index = keysOf(`${name}.kind`, written.value)?.[1];
    if (typeof index !== "number") return null;
    return (
      <span class="chosen" role="group" aria-label={name}>
        <strong>{name.slice(9)}</strong>
        <button id="delete" disabled={isOff} onClick={() => void deleteWorkload(index)}>
          Delete
        </button>
      </span>
    );
  }
  const device = everyDevice(rig.value).find((each) => each.name === name);
  if (!device) return null;
  return (
    <span class="chosen" role="group" aria-label={`What to do with ${name}`}>
      <strong>{name}</strong>
      <button id="one-more" disabled={isOff} onClick={() => void addOneMore(name)}>
        One more
      </button>
      {device.kind !== "host" && (
        <select id="move-to" aria-label={`Move ${name} to`} value="" disabled={isOff} onChange={(event) => void moveDevice(name, event.currentTarget.value)}>
          <option value="">Move to…</option>
          {freePorts(rig.value, name).map((port) => (
            <option key={port}>{port}</option>
          ))}
        </select>
      )}
      <button id="delete" disabled={isOff} onClick={() => void deleteDevice(name)}>
        Delete
      </button>
    </span>
  );
}

function Hint({ children }: { children: ComponentChildren }) {
  return <span class="hint">{children}</span>;
}

/** What is dragged, beside the pointer, with what the core says of the place. */
function Ghost() {
  const now = drag.value;
  if (!now) return null;
  const name = "part" in now.load ? now.load.part.title : now.load.device;
  return (
    <div class="ghost" style={{ left: `${Math.min(now.x + 14, innerWidth - 260)}px`, top: `${now.y + 10}px` }} aria-hidden="true">
      <strong>{name}</strong>
      <span>{saidOfPlace() || "Drop it on a free port."}</span>
    </div>
  );
}
