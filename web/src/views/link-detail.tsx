/** The link above the device that is chosen: what waits, which credits are left, where the time went. */
import type { Direction, LiveDirection, LivePool, Shares } from "lanewise";
import { memoryUse } from "../rig/memory-wire.ts";
import { cause, percent, rate, whole } from "../rig/words.ts";
import { isOnePacket, live, results, selected } from "../state/store.ts";

/** Data that one credit is for, B. PCIe Base 6.3 §2.6.1. */
const CREDIT = 16;
/** Shares below it are not shown. */
const LEAST = 0.0005;

export function LinkDetail() {
  const name = selected.value;
  if (!name) return null;
  const measured = results.value?.links.find((link) => link.name === name);
  if (measured) {
    return (
      <section class="link-detail" aria-label={`Link of ${name}`}>
        <h2>The link of {name}, over the measured time</h2>
        <div class="two">
          <Measured title="Upstream, towards the host" direction={measured.upstream} memory={memoryUse(results.value!, name, "upstream")} />
          <Measured title="Downstream" direction={measured.downstream} memory={memoryUse(results.value!, name, "downstream")} />
        </div>
      </section>
    );
  }
  const now = live.value?.links.find((link) => link.name === name);
  if (!now) return <Shared of={name} />;
  return (
    <section class="link-detail" aria-label={`Link of ${name}`}>
      <h2>The link of {name}, now</h2>
      <div class="two">
        <Live title="Upstream, towards the host" direction={now.upstream} memory={memoryUse(live.value!, name, "upstream")} />
        <Live title="Downstream" direction={now.downstream} memory={memoryUse(live.value!, name, "downstream")} />
      </div>
      <Tags of={name} />
      <Shared of={name} />
    </section>
  );
}

/** Reads that a device has asked for. */
function Tags({ of }: { of: string }) {
  const asks = live.value?.requesters.find((each) => each.device === of);
  if (!asks) return null;
  return (
    <p>
      {of} has {asks.outstanding_reads} of {asks.tags} tags in use.
    </p>
  );
}

/** What several share in a device: memory, the core of a switch, the media of a drive. */
function Shared({ of }: { of: string }) {
  const found = live.value?.resources.filter((each) => each.name.startsWith(`${of}.`)) ?? [];
  if (found.length === 0) return null;
  return (
    <ul class="shared" aria-label={`What is shared in ${of}, now`}>
      {found.map((each) => (
        <li key={each.name}>
          {each.name}, {each.limit}: in use {percent(each.utilisation)}, {each.waiting_mean.toFixed(1)} wait
        </li>
      ))}
    </ul>
  );
}

function Measured({ title, direction, memory }: { title: string; direction: Direction; memory: number | null }) {
  return (
    <div>
      <h3>{title}</h3>
      <p>
        {rate(direction.ladder.goodput_gb_per_s)} of payload; {whole(direction.tlps)} TLPs, {whole(direction.dllps)} DLLPs
        {direction.replays > 0 && `, ${whole(direction.replays)} replays`}
      </p>
      {memory !== null && <MemoryUse part={memory} />}
      <SharesView shares={direction.time_attribution} />
    </div>
  );
}

function Live({ title, direction, memory }: { title: string; direction: LiveDirection; memory: number | null }) {
  const { posted, non_posted, completion } = direction.queued_tlps;
  return (
    <div>
      <h3>{title}</h3>
      <p>
        {direction.transmitter}: {direction.waits_for ? cause(direction.waits_for) : "something is on the wire"}
      </p>
      <div class="table-scroll" tabindex={0} role="group" aria-label={`Credits, ${title}`}>
        <table>
          <thead>
            <tr>
              <th scope="col">Class</th>
              <th scope="col">TLPs wait</th>
              <th scope="col">Header credits</th>
              <th scope="col">Data credits</th>
              <th scope="col">In the receiver</th>
            </tr>
          </thead>
          <tbody>
            <PoolRow name="posted" waiting={posted} pool={direction.credits.posted} />
            <PoolRow name="non-posted" waiting={non_posted} pool={direction.credits.non_posted} />
            <PoolRow name="completion" waiting={completion} pool={direction.credits.completion} />
          </tbody>
        </table>
      </div>
      <p>
        {direction.unacknowledged} sent and not acknowledged, {whole(direction.retry_buffer_bytes)} B in the retry buffer
      </p>
      {memory !== null && <MemoryUse part={memory} />}
      {!isOnePacket.value && <SharesView shares={direction.time_attribution} />}
    </div>
  );
}

function PoolRow({ name, waiting, pool }: { name: string; waiting: number; pool: LivePool }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td class="number">{waiting}</td>
      <td class="number">{left(pool.header_free, pool.header_advertised)}</td>
      <td class="number">{left(pool.data_free, pool.data_advertised)}</td>
      <td class="number">
        {pool.header_held} TLPs, {whole(pool.data_held * CREDIT)} B
      </td>
    </tr>
  );
}

function left(free: number | null, advertised: number | null): string {
  return free === null || advertised === null ? "infinite" : `${free} of ${advertised}`;
}

function SharesView({ shares }: { shares: Shares }) {
  const sorted = Object.entries(shares)
    .filter(([, share]) => share >= LEAST)
    .sort((one, other) => other[1] - one[1]);
  return (
    <ul class="shares" aria-label="Where the time went">
      {sorted.map(([use, share]) => (
        <li key={use}>
          <span class="bar" style={{ width: `${share * 100}%` }} />
          <span>{use.replaceAll("_", " ")}</span>
          <span class="number">{percent(share)}</span>
        </li>
      ))}
    </ul>
  );
}

function MemoryUse({ part }: { part: number }) {
  return <p>CXL.mem has the wire {percent(part)} of the time. What follows is the time beside its flits.</p>;
}
