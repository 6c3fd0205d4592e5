/** Parts of the catalog: looked for by words and by kind, added with Enter or dragged onto the picture. */
import { computed, effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Part } from "lanewise";
import { ofPort } from "../rig/topology.ts";
import { parts, rig, text } from "../state/store.ts";
import { everyDevice, withPart } from "./acts.ts";
import { grab } from "./dragging.ts";
import { KIND_TITLES, kindTitle, linksOf, partsFor } from "./parts.ts";
import { attempted, cameUp, canBuild, closePalette, isPaletteOpen, judged, perform, place, placesFor } from "./state.ts";

const words = signal("");
const kind = signal("");
const chosen = signal<string | null>(null);
/** What the core says of the chosen part at the chosen place. */
const verdict = signal("");

const found = computed<Part[]>(() => partsFor(parts.value, words.value, kind.value));
const active = computed<Part | null>(() => found.value.find((part) => part.name === chosen.value) ?? found.value[0] ?? null);
/** Where it goes: the place that was asked for as long as it is one, else the next one beside it, else the first. */
const where = computed<string | null>(() => {
  const all = active.value ? placesFor(active.value) : [];
  const asked = place.value;
  if (asked !== null && all.includes(asked)) return asked;
  return all.find((each) => asked !== null && ofPort(each).device === ofPort(asked).device) ?? all[0] ?? null;
});
const isHost = computed(() => active.value?.kind === "host");

/** Opens it, for a free port or for any. */
export function openPalette(port: string | null): void {
  place.value = port;
  isPaletteOpen.value = true;
  requestAnimationFrame(() => {
    // On a phone the keyboard would cover the parts before one has seen them.
    if (matchMedia("(hover: none)").matches) document.querySelector(".palette")?.scrollIntoView({ block: "nearest" });
    else searchField()?.focus();
  });
  // It is there already: what is typed next goes into it.
  if (!matchMedia("(hover: none)").matches) searchField()?.focus();
}

function searchField(): HTMLElement | null {
  return document.getElementById("part-words");
}

export function Palette() {
  const list = useRef<HTMLUListElement>(null);
  useEffect(followVerdict, []);
  useEffect(() => list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" }), [active.value]);
  return (
    <section class="palette" aria-label="Parts of the catalog">
      <div class="row">
        <input
          id="part-words"
          type="text"
          role="combobox"
          aria-expanded="true"
          aria-controls="part-list"
          aria-activedescendant={active.value ? `part-${active.value.name}` : undefined}
          aria-label="Find a part: Enter adds it"
          placeholder="find a part: gen5 drive, 980, ConnectX…"
          autocomplete="off"
          value={words.value}
          onInput={(event) => (words.value = event.currentTarget.value)}
          onKeyDown={(event) => steer(event)}
        />
        <select aria-label="Kind of part" value={kind.value} onChange={(event) => (kind.value = event.currentTarget.value)}>
          <option value="">all kinds</option>
          {KIND_TITLES.map((title) => (
            <option key={title}>{title}</option>
          ))}
        </select>
        <button onClick={closePalette} aria-label="Close the parts">
          ✕
        </button>
      </div>
      <ul id="part-list" role="listbox" aria-label="Parts" ref={list}>
        {found.value.map((part) => (
          <PartRow key={part.name} part={part} isActive={part === active.value} />
        ))}
        {found.value.length === 0 && <li class="empty">{parts.value.length === 0 ? "The catalog is being read…" : "No part of the catalog has these words."}</li>}
      </ul>
      {active.value && (
        <div class="row add">
          {!isHost.value && (
            <label>
              onto{" "}
              <select id="part-place" value={where.value ?? ""} onChange={(event) => (place.value = event.currentTarget.value)}>
                {where.value === null && <option value="">nothing is free</option>}
                {placeWords(active.value).map(([value, said]) => (
                  <option key={value} value={value}>
                    {said}
                  </option>
                ))}
              </select>
            </label>
          )}
          <button class="main" id="add-part" disabled={!canBuild() || (!isHost.value && where.value === null)} onClick={() => void add()}>
            Add {active.value.name}
          </button>
          <p class="part-verdict" id="verdict" role="status">
            {verdict.value}
          </p>
        </div>
      )}
    </section>
  );
}

function PartRow({ part, isActive }: { part: Part; isActive: boolean }) {
  return (
    <li
      id={`part-${part.name}`}
      role="option"
      aria-selected={isActive}
      onClick={() => (chosen.value = part.name)}
      onDblClick={() => void add()}
      onPointerDown={(event) => {
        chosen.value = part.name;
        grab(event, { part });
      }}
    >
      <span class="part-title" title={part.title}>{part.title}</span>
      <small>
        {kindTitle(part)} · {linksOf(part) || part.name}
      </small>
    </li>
  );
}

/** Up and down choose, Enter adds, Escape closes. */
function steer(event: KeyboardEvent): void {
  const now = active.value ? found.value.indexOf(active.value) : -1;
  const to = { ArrowDown: now + 1, ArrowUp: now - 1, PageDown: now + 8, PageUp: now - 8 }[event.key];
  if (to !== undefined) {
    event.preventDefault();
    chosen.value = found.value[Math.min(Math.max(to, 0), found.value.length - 1)]?.name ?? null;
  } else if (event.key === "Enter") {
    event.preventDefault();
    void add();
  } else if (event.key === "Escape") {
    closePalette();
  }
}

async function add(): Promise<void> {
  const part = active.value;
  if (!part || !canBuild() || (part.kind !== "host" && where.value === null)) return;
  await perform([attempted((now) => withPart(now, part, part.kind === "host" ? null : where.value))]);
}

/** Places, rows of ports that are alike as one. */
function placeWords(part: Part): [string, string][] {
  if (!rig.value || part.kind === "storage" || part.kind === "system") return placesFor(part).map((name) => [name, name]);
  const rows = everyDevice(rig.value).flatMap((each) => each.free);
  return rows.flatMap(({ ports, link }): [string, string][] => {
    // The one that was asked for stands for its row.
    const port = ports.find((each) => each === where.value) ?? ports[0];
    return port ? [[port, `${port} (${link}${ports.length > 1 ? `, ${ports.length} free` : ""})`]] : [];
  });
}

/** Asks the core about the chosen part, a moment after the last change. */
function followVerdict(): () => void {
  let turn = 0;
  return effect(() => {
    const [part, to] = [active.value, where.value, text.value];
    const mine = ++turn;
    verdict.value = "";
    if (!part || !canBuild() || (part.kind !== "host" && to === null)) return;
    setTimeout(async () => {
      const act = attempted((now) => withPart(now, part, part.kind === "host" ? null : to));
      if (!act || mine !== turn || !isPaletteOpen.peek()) return;
      const answer = await judged(act.text);
      if (mine === turn) verdict.value = answer.fits ? cameUp(answer.explained, act.device) : answer.why;
    }, 120);
  });
}
