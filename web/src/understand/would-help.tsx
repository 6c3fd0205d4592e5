/** Edits that make what limits the run larger: each is simulated when asked for, and can be taken over into the text. */
import type { LimitedBy, Results } from "lanewise";
import { change, changed, latency } from "./measure.ts";
import { nanoseconds } from "../rig/words.ts";
import { type Trial, attempt, isTrying, stopTrying, takeOver, textWith, trialOf } from "./trials.ts";

type Edit = LimitedBy["edits"][number];

export function WouldHelp({ results }: { results: Results }) {
  const edits = results.limited_by?.edits ?? [];
  return (
    <section aria-labelledby="would-help">
      <h2 id="would-help">What would help?</h2>
      {edits.length === 0 ? (
        <p>No value of this rig says how large the limit is, so there is nothing to try here. Change the text, and see what moves.</p>
      ) : (
        <>
          <p>Each of these makes the limit larger. Try one: it is simulated beside the run, and the text stays as it is until you take it over.</p>
          <ul class="edits">
            {edits.map((edit) => (
              <WhatIf key={edit.what} edit={edit} before={results} />
            ))}
          </ul>
          <p class="row start">
            {edits.length > 1 && <button id="try-all" onClick={() => edits.forEach(({ settings }) => attempt(settings))}>Try all</button>}
            {isTrying.value && <button onClick={stopTrying}>Stop</button>}
          </p>
        </>
      )}
    </section>
  );
}

function WhatIf({ edit, before }: { edit: Edit; before: Results }) {
  const trial = trialOf(edit.settings);
  const isWritable = textWith(edit.settings) !== null;
  return (
    <li data-what={edit.what}>
      <div class="row start">
        <strong>{capital(edit.what)}</strong>
        <button aria-label={`Try: ${edit.what}`} disabled={trial?.kind === "waits" || trial?.kind === "done"} onClick={() => attempt(edit.settings)}>
          Try
        </button>
        <button aria-label={`Take it over: ${edit.what}`} disabled={!isWritable || trial?.kind === "refused"} onClick={() => takeOver(edit.settings)}>
          Take it over
        </button>
      </div>
      <p class="legend">
        {edit.settings.slice(0, MOST).map(({ path, before: was, after }, index) => (
          <span key={path}>
            {index > 0 && ", "}
            <code>{path}</code> {was} → {after}
          </span>
        ))}
        {edit.settings.length > MOST && ` and ${edit.settings.length - MOST} more`}
        {!isWritable && ". This text has no place for it: write it in the editor."}
      </p>
      <div role="status">{trial && <Outcome trial={trial} before={before} />}</div>
    </li>
  );
}

function Outcome({ trial, before }: { trial: Trial; before: Results }) {
  if (trial.kind === "waits") return <p>It is simulated…</p>;
  if (trial.kind === "refused") return <p class="refused">There can be no such machine: {trial.reason}</p>;
  const after = trial.measured;
  const { was, is, of, ratio } = changed(before, after);
  const [slow, quick] = [latency(before), latency(after, before)];
  return (
    <p class="outcome">
      {was} → <strong>{is}</strong>
      {of && ` ${of}`}, {ratio === null ? "where there was nothing before" : `${ratio.toFixed(2)} times as much (${change(ratio)})`}.
      {slow !== null && quick !== null && ` Mean latency ${nanoseconds(slow)} → ${nanoseconds(quick)}.`} Then{" "}
      {after.limited_by ? after.limited_by.sentence.replace(/^Limited/, "limited") : "nothing moves"}.
    </p>
  );
}

/** Settings that a line names. */
const MOST = 4;

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
