/** What a run gave: what limits it, and tables of flows and links. */
import type { Link, LiveDirection, Results } from "lanewise";
import { type Rated, headlineOf } from "../rig/headline.ts";
import { meanOf } from "../rig/latency.ts";
import { memoryUse } from "../rig/memory-wire.ts";
import { ofPort } from "../rig/topology.ts";
import { isOnePacket, live, results, runStage, tab } from "../state/store.ts";
import { cause, counted, isHeldUp, nanoseconds, percent, rate } from "../rig/words.ts";
import { devices } from "../understand/uses.ts";

/** What limits the run, in one sentence: the answer that the page is for. */
export function Answer() {
  const done = results.value;
  if (!done) return <LiveAnswer />;
  return (
    <div class="answer" role="status">
      <Headline goodput_gb_per_s={done.goodput_gb_per_s} flows={done.flows} />
      <p>
        {done.limited_by ? <strong id="limited-by">{done.limited_by.sentence}.</strong> : <strong>Nothing moved.</strong>}{" "}
        <button class="line" id="to-understand" onClick={toUnderstand}>
          Why, and what would help?
        </button>
        {done.stalled_waiting.map((line) => (
          <span class="stalled" key={line}>
            {line}
          </span>
        ))}
      </p>
    </div>
  );
}

/** The keyboard goes along. */
function toUnderstand(): void {
  tab.value = "understand";
  document.getElementById("tab-understand")?.focus();
}

function Headline(rated: Rated) {
  const shown = headlineOf(rated);
  return (
    <p class="total">
      {rate(shown.rate)}
      <small>{shown.of}</small>
    </p>
  );
}

function LiveAnswer() {
  const state = live.value;
  if (!state || runStage.value === "none") return <div class="answer" />;
  const held = heldUp(state.links.flatMap((link) => [link.upstream, link.downstream]));
  return (
    <div class="answer">
      {!isOnePacket.value && (
        <Headline goodput_gb_per_s={state.goodput_gb_per_s} flows={state.flows} />
      )}
      <div>
        {held.length === 0 && <p>No wire is held up now.</p>}
        <ul class="held" aria-label="Held up now">
          {held.map(([why, names]) => (
            <li key={why}>
              {names.slice(0, MOST_NAMES).join(", ")}
              {names.length > MOST_NAMES && ` and ${names.length - MOST_NAMES} more`}: {names.length > 1 ? cause(why).replace(/^waits/, "wait") : cause(why)}
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

/** Names in a line. */
const MOST_NAMES = 4;

/** Transmitters that something holds up, by what. */
function heldUp(directions: LiveDirection[]): [string, string[]][] {
  const by = new Map<string, string[]>();
  for (const { waits_for, transmitter } of directions) {
    if (isHeldUp(waits_for)) by.set(waits_for, [...(by.get(waits_for) ?? []), ofPort(transmitter).device]);
  }
  return [...by].sort((one, other) => other[1].length - one[1].length);
}

export function Tables() {
  const done = results.value;
  // A host alone has neither.
  if (!done || done.links.length === 0) return null;
  return (
    <section aria-label="Results">
      <div class="table-scroll" tabindex={0} role="group" aria-label="Table of flows">
        <table id="flows">
          <caption>Flows</caption>
          <thead>
            <tr>
              <th scope="col">Flow</th>
              <th scope="col">Direction</th>
              <th scope="col">Device</th>
              <th scope="col">Payload</th>
              <th scope="col">A second</th>
              <th scope="col">Latency, mean</th>
              <th scope="col">p99</th>
            </tr>
          </thead>
          <tbody>
            {done.flows.filter((flow) => flow.operations > 0 || flow.bytes > 0).map((flow) => (
              <tr key={`${flow.name} ${flow.direction} ${flow.device}`}>
                <th scope="row">{flow.name}</th>
                <td>{flow.direction}</td>
                <td title={flow.device}>{devices(flow.device)}</td>
                <td class="number">{rate(flow.goodput_gb_per_s)}</td>
                <td class="number">{counted(flow)}</td>
                <td class="number">{nanoseconds(meanOf(flow.latency_ns))}</td>
                <td class="number">{nanoseconds(flow.latency_ns.p99)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <div class="table-scroll" tabindex={0} role="group" aria-label="Table of links">
        <table id="links">
          <caption>Links: payload, and use of the wire</caption>
          <thead>
            <tr>
              <th scope="col">Link</th>
              <th scope="col">Came up as</th>
              <th scope="col">Upstream</th>
              <th scope="col" title="Part of the time that anything is on the wire">in use</th>
              <th scope="col">Downstream</th>
              <th scope="col" title="Part of the time that anything is on the wire">in use</th>
            </tr>
          </thead>
          <tbody>
            {done.links.map((link) => (
              <tr key={link.name}>
                <th scope="row">{link.name}</th>
                <td>
                  {link.generation} {link.width}
                </td>
                <td class="number">{rate(link.upstream.ladder.goodput_gb_per_s)}</td>
                <td class="number">{useOf(done, link, "upstream")}</td>
                <td class="number">{rate(link.downstream.ladder.goodput_gb_per_s)}</td>
                <td class="number">{useOf(done, link, "downstream")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** Part of the time that anything is on a wire: of CXL.mem, where the link carries that. */
function useOf(results: Results, link: Link, way: "upstream" | "downstream"): string {
  const memory = memoryUse(results, link.name, way);
  return memory ? `${percent(memory)} CXL.mem` : percent(link[way].utilisation);
}
