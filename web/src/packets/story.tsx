/** What is known of the packet that was chosen: where it waited and for what, what had the wire meanwhile, and its request from issue to end. */
import type { Station, TraceRow, TraceWait, Transaction } from "lanewise";
import { endOf, isHeld, meanwhile } from "./model.ts";
import { choose, chosen, chosenRow, isTracing, lookUp, relatives, request, rows, story } from "./state.ts";
import { byLength, causeOf, credits, ns, placeOf, sentenceOf, spanOf, title, waited } from "./words.ts";

/** So many links to other packets are shown. */
const MOST = 12;

export function Story() {
  const row = chosenRow.value;
  return (
    <section id="story" class="story" aria-label="The packet that is chosen" aria-live="polite">
      {row ? <Chosen row={row} /> : <p class="empty">Choose a packet, in the diagram or in the list, to see what it waited for.</p>}
    </section>
  );
}

function Chosen({ row }: { row: TraceRow }) {
  return (
    <>
      <h2>{title(row)}</h2>
      <p class="legend">{whereOf(row)}</p>
      <div class="two">
        <Wait row={row} />
        {request.value && <Request />}
      </div>
    </>
  );
}

function whereOf(row: TraceRow): string {
  const way = row.direction === "upstream" ? "upstream" : "downstream";
  const number = row.sequence === null ? "" : `, sequence number ${row.sequence}`;
  const wire = row.span_ticks > 0 ? `, ${spanOf(row.span_ticks)} on the wire` : "";
  const left = row.kind === "tlp" && row.channel !== null ? `; header/data credits left: ${credits(row)}` : "";
  return `On the link of ${row.link}, ${way}${number}, at ${ns(row.at_ticks)} ns${wire}${left}.`;
}

function Wait({ row }: { row: TraceRow }) {
  if (isHeld(row)) {
    return (
      <div>
        <h3>Held up for {spanOf(waited(row))}</h3>
        <Parts waits={row.waits} />
      </div>
    );
  }
  if (row.kind === "blocked") return <Held row={row} />;
  if (row.kind !== "tlp") return row.note === "" ? <div /> : <p>{row.note}</p>;
  if (row.ready_at_ticks === null) return <p>What is sent again waits for nothing but the replay.</p>;
  if (row.waits.length === 0) {
    const words = row.at_ticks > row.ready_at_ticks ? "It was sent before, so its wait is not worked out again." : "It left as soon as it could.";
    return (
      <div>
        <h3>It did not wait here</h3>
        <p>{words}</p>
      </div>
    );
  }
  const depth = row.queue_depth ? ` ${row.queue_depth} of its class waited behind it.` : "";
  return (
    <div>
      <h3>
        It waited {spanOf(waited(row))} here
      </h3>
      <p>
        It could leave from {ns(row.ready_at_ticks)} ns on, and left at {ns(row.at_ticks)} ns.{depth}
      </p>
      <Parts waits={row.waits} />
      <Meanwhile row={row} />
    </div>
  );
}

/** What begins to be held up: for how long, if the trace has the end of it. */
function Held({ row }: { row: TraceRow }) {
  const end = chosen.value === null ? null : endOf(rows.value, chosen.value);
  const last = end === null ? undefined : rows.value[end];
  const held = HELD[row.note];
  return (
    <div>
      <h3>{last ? `Held up for ${spanOf(waited(last))} from here on` : "Held up from here on, past the end of the trace"}</h3>
      {held && <p>{held} may not leave.</p>}
      {last && <Parts waits={last.waits} />}
      {end !== null && <Links indexes={[end]} isCut={false} label="Where it ends" />}
    </div>
  );
}

/** What is held up, where that is no single packet. */
const HELD: Record<string, string> = {
  everything: "Whatever is there",
  P: "Posted requests",
  NP: "Non-posted requests, such as reads,",
  Cpl: "Completions",
};

/** Parts of a wait, the longest first, which add up to it. */
function Parts({ waits }: { waits: TraceWait[] }) {
  const all = waits.reduce((sum, wait) => sum + wait.ticks, 0);
  return (
    <ul class="shares waits">
      {byLength(waits).map((wait) => (
        <li key={wait.cause}>
          <span class="bar" style={{ width: `${(wait.ticks / Math.max(all, 1)) * 100}%` }} />
          <span>
            <strong>{causeOf(wait)}</strong>: {sentenceOf(wait)}
          </span>
          <span class="number">{ns(wait.ticks)}</span>
        </li>
      ))}
    </ul>
  );
}

/** Packets that had its wire while it waited. */
function Meanwhile({ row }: { row: TraceRow }) {
  const found = meanwhile(rows.value, row);
  if (found.length === 0) return null;
  return (
    <>
      <p>
        On its wire meanwhile: {found.length} {found.length === 1 ? "packet" : "packets"} of this trace.
      </p>
      <Links indexes={found.slice(-MOST)} isCut={found.length > MOST} label="On the wire meanwhile" />
    </>
  );
}

function Links({ indexes, isCut, label }: { indexes: number[]; isCut: boolean; label: string }) {
  return (
    <p class="packet-links" role="group" aria-label={label}>
      {isCut && "… "}
      {indexes.map((index) => {
        const row = rows.value[index];
        if (!row) return null;
        const name = `${row.what}${row.tag === null ? "" : ` ${row.tag}`}`;
        return (
          <button key={index} aria-current={chosen.value === index ? "true" : undefined} title={`${title(row)}, ${row.link} at ${ns(row.at_ticks)} ns`} onClick={() => choose(index)}>
            {name} <small>{row.link}</small>
          </button>
        );
      })}
    </p>
  );
}

function Request() {
  const found = story.value;
  return (
    <div>
      <h3>Its request, from issue to end</h3>
      {found?.kind === "found" && <Stations transaction={found.transaction} />}
      {found?.kind === "none" && <p>{found.reason}</p>}
      {found?.kind === "stopped" && (
        <p class="row start">
          Its look-up was stopped.{" "}
          <button id="look-up" onClick={lookUp}>
            Look it up
          </button>
        </p>
      )}
      {!found && <p>{isTracing.value ? "It is looked up when the trace is there." : "It is looked up…"}</p>}
      <p>In this trace, {relatives.value.length === 1 ? "this TLP of it:" : `${relatives.value.length} TLPs of it:`}</p>
      <Links indexes={relatives.value.slice(0, MOST)} isCut={relatives.value.length > MOST} label="TLPs of the same request" />
    </div>
  );
}

function Stations({ transaction }: { transaction: Transaction }) {
  const { what, requester, flow, completions, latency_ticks, issued_at_ticks, stations } = transaction;
  const answers = completions === 0 ? "" : completions === 1 ? ", 1 completion" : `, ${completions} completions`;
  return (
    <div class="table-scroll" tabindex={0} role="group" aria-label="Times at stations">
      <table id="stations">
        <caption>
          {what} of {requester} ({flow}){answers}: {spanOf(latency_ticks)}
        </caption>
        <thead>
          <tr>
            <th scope="col" class="number">ns</th>
            <th scope="col" class="number">for ns</th>
            <th scope="col">what</th>
            <th scope="col">where</th>
          </tr>
        </thead>
        <tbody>
          {stations.map((station) => (
            <StationRow key={station.at_ticks} station={station} of={latency_ticks} />
          ))}
        </tbody>
        <tfoot>
          <tr>
            <td class="number">{ns(issued_at_ticks + latency_ticks)}</td>
            <td class="number" id="latency">{ns(latency_ticks)}</td>
            <td />
            <td>in all</td>
          </tr>
        </tfoot>
      </table>
    </div>
  );
}

function StationRow({ station, of }: { station: Station; of: number }) {
  const waits = byLength(station.waits).map((wait) => `${ns(wait.ticks)} ${causeOf(wait)}`);
  return (
    <tr data-ticks={station.span_ticks}>
      <td class="number">{ns(station.at_ticks)}</td>
      <td class="number share" style={{ backgroundSize: `${(station.span_ticks / Math.max(of, 1)) * 100}% 100%` }}>
        {ns(station.span_ticks)}
      </td>
      <td>{station.what}</td>
      <td class="wide">
        {placeOf(station)}
        {waits.length > 0 && <small>{waits.join(", ")}</small>}
      </td>
    </tr>
  );
}

