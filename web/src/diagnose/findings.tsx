/** What the doctor found, worst first, as it sorts them. */
import type { Doctor, DoctorFindingCost } from "lanewise";
import { type Alike, alike } from "./grouping.ts";
import { Said } from "./said.tsx";
import { counted } from "./words.ts";

const WORDS = { error: "error", warning: "warning", info: "note" } as const;
/** Losses below what is shown of them are none. */
const NO_GB_PER_S = 0.005;
const MANY_NS = 10_000;

export function Findings({ doctor }: { doctor: Doctor }) {
  const { summary } = doctor;
  const groups = alike(doctor);
  return (
    <>
      <p id="verdict" class={`verdict ${summary.error > 0 ? "error" : summary.warning > 0 ? "warning" : "healthy"}`}>
        {verdict(doctor)}
      </p>
      <ul class="findings" id="findings">
        {groups.map((group) => (
          <Finding key={`${group.first.rule} ${group.first.bdf}`} group={group} />
        ))}
      </ul>
      {summary.notes.map((note) => (
        <p key={note} class="legend">
          {note}
        </p>
      ))}
    </>
  );
}

function verdict({ summary }: Doctor): string {
  const checked = `${counted(summary.rules, "rule")} looked at ${counted(summary.functions, "function")} and ${counted(summary.links, "link")}.`;
  const found = [
    ...(summary.error > 0 ? [counted(summary.error, "error")] : []),
    ...(summary.warning > 0 ? [counted(summary.warning, "warning")] : []),
  ];
  const notes = summary.info > 0 ? ` ${counted(summary.info, "note")}: worth knowing, but nothing is wrong.` : "";
  if (found.length > 0) return `${found.join(" and ")}. ${checked}${notes}`;
  if (summary.examined) return `Nothing is wrong. ${checked}${notes}`;
  const missing = Object.entries(summary.readable).filter(([, { known, of }]) => known < of);
  const lacking = missing.map(([what, { known, of }]) => `${what} of ${known} in ${of}`).join(", ");
  return `Too little can be read to say that nothing is wrong${lacking ? `: ${lacking}` : ""}. Run lspci -vvv as root. ${checked}${notes}`;
}

function Finding({ group }: { group: Alike }) {
  const { first, others } = group;
  return (
    <li class={`finding ${first.severity}`} data-rule={first.rule} data-bdf={first.bdf}>
      <p>
        <strong class="severity">{WORDS[first.severity]}</strong> <b><Said text={first.title} /></b>
        {first.device && <span class="soft"> ({first.device})</span>}
      </p>
      {others.length > 0 && (
        <p>
          Alike at {others.length} more: {others.join(", ")}
        </p>
      )}
      {first.cost && <p class="cost">{cost(first.cost)}</p>}
      <p>
        <b>What to do:</b> <Said text={first.fix} />
      </p>
      <details>
        <summary>
          Evidence, rule <code>{first.rule}</code>
        </summary>
        <ul class="evidence">
          {first.evidence.map((line, index) => (
            <li key={index}>
              <code>{line}</code>
            </li>
          ))}
        </ul>
      </details>
    </li>
  );
}

function cost(of: DoctorFindingCost): string {
  if (of.basis !== "simulated") return `Cost: ${of.what}`;
  const lost = lostBy(of);
  return lost ? `Costs ${lost}: ${of.what} (simulated)` : `No measurable cost: ${of.what} (simulated)`;
}

function lostBy({ gb_per_s, ns }: DoctorFindingCost): string {
  if (ns !== undefined) return ns >= MANY_NS ? `${(ns / 1000).toFixed(1)} µs` : ns >= 1 ? `${ns.toFixed(0)} ns` : "";
  return gb_per_s !== undefined && gb_per_s >= NO_GB_PER_S ? `${gb_per_s.toFixed(2)} GB/s` : "";
}
