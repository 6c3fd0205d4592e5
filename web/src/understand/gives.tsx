/** What a run gives, and why not more: its limit, a link's ladder, and where time went. */
import { computed, signal } from "@preact/signals";
import type { Results } from "lanewise";
import { memoryUse } from "../rig/memory-wire.ts";
import { counted, percent, rate } from "../rig/words.ts";
import { keepInLinks } from "../state/sharing.ts";
import { textAt } from "../toml/plain.ts";
import { type Wire, isOneOf, ladderOf, limitingWires, linkOf, telling, wires } from "./ladder.ts";
import { Ladder } from "./ladder-view.tsx";
import { data, given, longest } from "./measure.ts";
import { Times } from "./times.tsx";
import { base } from "./trials.ts";
import { called, devices } from "./uses.ts";

/** The wire whose ladder was asked for. */
const asked = signal<Wire | null>(null);
const wire = computed<Wire | null>(() => {
  const results = base.value;
  if (!results) return null;
  const known = asked.value && results.links.some(({ name }) => name === asked.value?.link);
  return known ? asked.value : telling(results);
});

keepInLinks("understand", {
  save: () => asked.value ?? undefined,
  read(saved) {
    if (saved === undefined) return () => (asked.value = null);
    const [link, direction] = [textAt(saved, "link"), textAt(saved, "direction")];
    return link && (direction === "upstream" || direction === "downstream") ? () => (asked.value = { link, direction }) : null;
  },
});

export function Gives({ results }: { results: Results }) {
  const { much, of } = given(results);
  const moving = data(results).filter((flow) => flow.operations > 0 || flow.bytes > 0);
  const groups = Map.groupBy(moving, (flow) => JSON.stringify([flow.name.replaceAll(/\d+/g, "#"), flow.direction, rate(flow.goodput_gb_per_s)]));
  return (
    <section aria-labelledby="gives">
      <h2 id="gives">What does it give?</h2>
      <p class="said">
        <strong class="total">{much}</strong> {of}
        {results.stalled_waiting.length > 0 ? `, and then nothing moves any more: ${results.stalled_waiting.join("; ")}.` : "."} {longest(results)}
      </p>
      {groups.size > 0 && (
        <ul class="flows">
          {[...groups.values()].map((alike) => {
            const [flow] = alike as [(typeof moving)[number]];
            const each = alike.length > 1 ? " each" : "";
            return (
              <li key={`${flow.name} ${flow.direction} ${flow.device}`}>
                {called(alike.map(({ name, device }) => (name.includes(device) ? name : `${name} of ${devices(device)}`)))} ({flow.direction}): {flow.bytes > 0 ? `${rate(flow.goodput_gb_per_s)}${each}, ` : ""}
                {flow.operations > 0 ? `${counted(flow)} a second${each}` : `none of its ${flow.counted} ended in the measured time`}
                {useOfLink(results, flow)}
              </li>
            );
          })}
        </ul>
      )}
    </section>
  );
}

/** How much of the link of a flow's own device is in use, the way that its data go. */
function useOfLink(results: Results, { device, direction }: Results["flows"][number]): string {
  const link = results.links.find(({ name }) => name === device);
  if (!link || !["read", "write"].includes(direction)) return "";
  // What cores read from CXL memory comes upstream; what a device reads goes downstream.
  const memory = memoryUse(results, device, direction === "read" ? "upstream" : "downstream");
  const use = memory ?? (direction === "read" ? link.downstream : link.upstream).utilisation;
  return `; ${device}'s own link (${link.generation} ${link.width}) is in use ${percent(use)}`;
}

export function WhyNotMore({ results }: { results: Results }) {
  const shown = wire.value;
  return (
    <section aria-labelledby="why-not-more">
      <h2 id="why-not-more">Why not more?</h2>
      <Limit results={results} />
      {shown && (
        <>
          <label class="of-link">
            From lanes to payload, on the link{" "}
            <select id="ladder-of" value={`${shown.link} ${shown.direction}`} onChange={(event) => choose(event.currentTarget.value)}>
              {wires(results).map(({ link, direction }) => (
                <option key={`${link} ${direction}`} value={`${link} ${direction}`}>
                  {linkOf(results, { link, direction }).upper} to {link}, {direction}
                </option>
              ))}
            </select>
          </label>
          <Ladder id="steps" caption={`${shown.link}, ${shown.direction}: what each step leaves, and why`} rungs={ladderOf(results, shown)} isExplained />
        </>
      )}
      <Times results={results} />
    </section>
  );
}

function choose(value: string): void {
  const space = value.lastIndexOf(" ");
  asked.value = { link: value.slice(0, space), direction: value.slice(space + 1) as Wire["direction"] };
}

/** The limit in words, and what else is at its end. */
function Limit({ results }: { results: Results }) {
  const limit = results.limited_by;
  if (!limit) return <p class="said">Nothing was found that limits it: nothing moved.</p>;
  const limiting = limitingWires(results);
  const full = wires(results).filter((each) => linkOf(results, each)[each.direction].utilisation >= FULL && !isOneOf(limiting, each));
  return (
    <>
      <p class="said">
        <strong id="limit">{limit.sentence}.</strong>
      </p>
      <p>
        This is what others waited for longest, or what was in use nearly all the time.
        {limit.of_goodput < 0.995 && ` It limits ${percent(limit.of_goodput)} of the payload.`}
        {limit.alike.length > 0 && ` In the same case: ${limit.alike.slice(0, MOST).join(", ")}${limit.alike.length > MOST ? ` and ${limit.alike.length - MOST} more` : ""}.`}
        {full.length > 0 && ` Also in use all the time: ${called(full.map(({ link, direction }) => `${link} ${direction}`))}.`}
      </p>
    </>
  );
}

/** A wire that is in use for more of the time is full. */
const FULL = 0.99;
/** Names in a sentence. */
const MOST = 6;
