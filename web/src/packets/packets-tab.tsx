/** The packets of a window of the run: a space-time diagram, an analyzer's list, and what a packet waited for. */
import { useEffect } from "preact/hooks";
import { isReady, isSound, live, results } from "../state/store.ts";
import { Diagram } from "./diagram.tsx";
import { PacketList } from "./list.tsx";
import { chooseLink, failure, isBusy, isStale, isTracing, kinds, length, link, links, look, lookAt, place, save, start, stop, trace } from "./state.ts";
import { Story } from "./story.tsx";
import type { Place } from "./window.ts";
import { KINDS, spanOf, TICKS_PER_NS } from "./words.ts";

const PLACES: [Place, string, string][] = [
  ["start", "From a time", "The window begins at the time beside."],
  ["worst-latency", "Worst latency", "What led to the request that took longest, in a run until its results are narrow enough."],
  ["first-blocked", "First blocked", "The first time that credits, a buffer, tags or ordering hold something up."],
  ["replay", "Replay", "The first replay after an error."],
  ["stall", "Stall", "The last that moved, in a run that stands still."],
];

/** What is said of what was not found. */
const NEVER: Record<string, string> = {
  "worst-latency": "No request is complete",
  "first-blocked": "Nothing is held up by credits, buffers, tags or ordering",
  replay: "There is no replay",
  stall: "Nothing stands still",
};

export function PacketsTab() {
  useEffect(() => {
    if (!trace.peek() && isReady.peek() && isSound.peek()) void look();
  }, [isReady.value, isSound.value]);
  const found = trace.value;
  const isEmpty = found !== null && found.rows.length === 0;
  return (
    <section class="panel packets-panel" aria-label="Packets">
      <WindowForm />
      <p class="clock" role="status">
        <Said />
      </p>
      {found && !isEmpty && (
        <>
          <div class={`packets-both ${isStale.value ? "stale" : ""}`}>
            <Diagram />
            <PacketList />
          </div>
          <Story />
        </>
      )}
    </section>
  );
}

function WindowForm() {
  return (
    <form
      class="window-form"
      aria-label="What is traced"
      onSubmit={(event) => {
        event.preventDefault();
        void look();
      }}
    >
      <span class="row-of-buttons" role="group" aria-label="Where the window is">
        {PLACES.map(([id, words, about]) => (
          <button key={id} type="button" id={`at-${id}`} title={about} aria-pressed={place.value === id} disabled={!isSound.value} onClick={() => lookAt(id)}>
            {words}
          </button>
        ))}
      </span>
      <label title="After the start of the run. What the window is to be around is looked for from then on.">
        From <input type="text" id="window-start" size={8} value={start.value} onInput={(event) => (start.value = event.currentTarget.value)} />
      </label>
      <label title="Around something, so long before it and a quarter of that after it; what led to the worst latency ends with it.">
        Length <input type="text" id="window-length" size={8} value={length.value} onInput={(event) => (length.value = event.currentTarget.value)} />
      </label>
      <label>
        Link{" "}
        <select id="window-link" value={link.value} onChange={(event) => chooseLink(event.currentTarget.value)}>
          <option value="">All links</option>
          {links.value.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <fieldset class="kinds">
        <legend>Kinds</legend>
        {Object.entries(KINDS).map(([kind, words]) => (
          <label key={kind}>
            <input type="checkbox" data-kind={kind} checked={kinds.value.includes(kind)} onChange={() => toggle(kind)} /> {words}
          </label>
        ))}
      </fieldset>
      <span class="row-of-buttons">
        <button id="trace" class="main" type="submit" disabled={!isSound.value || isTracing.value || kinds.value.length === 0}>
          Trace
        </button>
        <button id="trace-stop" type="button" disabled={!isBusy.value} onClick={stop}>
          Stop
        </button>
        <button id="save-perfetto" type="button" disabled={!isSound.value || isTracing.value} title="Open the file in ui.perfetto.dev. 1 ns there is 1 ps of the run." onClick={() => void save("perfetto")}>
          Perfetto file
        </button>
        <button id="save-jsonl" type="button" disabled={!isSound.value || isTracing.value} title="One JSON object for each row." onClick={() => void save("jsonl")}>
          Rows (JSON)
        </button>
      </span>
    </form>
  );
}

function toggle(kind: string): void {
  kinds.value = kinds.value.includes(kind) ? kinds.value.filter((each) => each !== kind) : [...kinds.value, kind];
}

function Said() {
  if (isTracing.value) return <>The run is traced…</>;
  if (failure.value) return <strong class="warn">{failure.value}</strong>;
  const found = trace.value;
  if (!found) return <>{isReady.value ? "Nothing is traced yet." : "The simulator starts…"}</>;
  const stale = isStale.value && <strong class="warn"> The scenario has changed since. Trace shows the new one.</strong>;
  const { around, from_ns, until_ns, fingerprint } = found;
  const time = (value: number): string => spanOf(value * TICKS_PER_NS);
  if (around && around.at_ns === null) {
    return (
      <>
        {NEVER[around.what]} in the run up to {time(around.looked_until_ns)}.{stale}
      </>
    );
  }
  return (
    <>
      {around && `${PLACES.find(([id]) => id === around.what)?.[1]} at ${time(around.at_ns ?? 0)}. `}
      {found.rows.length === 0 ? "Nothing of these kinds goes over these links" : "What goes over the links"} from {time(from_ns)} to {time(until_ns)}; fingerprint up to there{" "}
      <code id="trace-fingerprint">{fingerprint}</code>.{hasMemory() && " Flits of CXL.mem are in no trace: what they carry is said in Understand."}
      {stale}
    </>
  );
}

/** Whether links of the rig carry CXL.mem, which a trace leaves out. */
function hasMemory(): boolean {
  return (results.value ?? live.value)?.resources.some(({ kind }) => kind === "cxl_wire") === true;
}
