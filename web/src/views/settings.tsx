/** Every setting of a component, with its value in force and how that is known. A new value goes into the text, and from there into the run. */
import { computed, signal } from "@preact/signals";
import type { ExplainedParameter } from "lanewise";
import { useState } from "preact/hooks";
import { groupOf } from "../rig/topology.ts";
import { edit, goToLine } from "../state/editing.ts";
import { explained, mistakes, notice, schema, selected, text, written } from "../state/store.ts";
import { keysOf } from "../toml/place.ts";
import { at } from "../toml/plain.ts";
import { type Meaning, meaningOf } from "../toml/schema.ts";
import { changesBetween } from "../toml/changes.ts";
import { withSettings } from "../understand/take-over.ts";

const filter = signal("");

/** What has settings, in the order of the results: workloads first, since they are what one tries. */
const owners = computed<string[]>(() => {
  const all = [...new Set((explained.value?.parameters ?? []).map((each) => ownerOf(each.path)))];
  return [...all.filter((name) => name.startsWith("workload.")), ...all.filter((name) => !name.startsWith("workload."))];
});

const owner = computed<string>(() => {
  const wanted = groupOf(selected.value ?? "");
  return owners.value.includes(wanted) ? wanted : (owners.value[0] ?? "");
});

/** Those that are written in the file first, then as they come. */
const shown = computed<ExplainedParameter[]>(() => {
  const of = (explained.value?.parameters ?? []).filter((each) => ownerOf(each.path) === owner.value);
  const fit = of.filter((each) => each.path.includes(filter.value.trim()) && keysOf(each.path, written.value));
  return [...fit.filter(lineOf), ...fit.filter((each) => !lineOf(each))];
});

export function Settings() {
  if (owners.value.length === 0) return null;
  return (
    <section class="panel settings" aria-label="Settings">
      <div class="row">
        <h2>Settings of</h2>
        <select id="owner" aria-label="Component" value={owner.value} onChange={(event) => (selected.value = event.currentTarget.value)}>
          {owners.value.map((name) => (
            <option key={name} value={name}>
              {name.startsWith("workload.") ? `workload ${name.slice(9)}` : name}
            </option>
          ))}
        </select>
        <input
          type="text"
          placeholder="find a setting"
          aria-label="Find a setting"
          value={filter.value}
          onInput={(event) => (filter.value = event.currentTarget.value)}
        />
      </div>
      <ul class="setting-list">
        {shown.value.map((parameter) => (
          <Setting key={parameter.path} parameter={parameter} />
        ))}
      </ul>
    </section>
  );
}

function Setting({ parameter }: { parameter: ExplainedParameter }) {
  const name = parameter.path.slice(owner.value.length + 1);
  const meaning = meaningHere(parameter.path);
  const line = lineOf(parameter);
  const disabled = mistakes.value.length > 0;
  return (
    <li class={line ? "written" : ""}>
      <label title={meaning?.description ?? ""}>
        <span class="setting-name">{name}</span>
        <Field path={parameter.path} value={parameter.value} meaning={meaning} disabled={disabled} />
      </label>
      <span class="provenance" title={`${parameter.source} (${parameter.place})`}>
        {line ? (
          <button class="line" onClick={() => goToLine(line)}>
            line {line}
          </button>
        ) : (
          parameter.provenance
        )}
      </span>
    </li>
  );
}

interface FieldOf {
  path: string;
  value: string;
  meaning: Meaning | null;
  disabled: boolean;
}

function Field({ path, value, meaning, disabled }: FieldOf) {
  const isClosed = meaning !== null && meaning.choices.length > 1 && meaning.examples.length === 0;
  if (isClosed && meaning.choices.some((choice) => choice.value === value)) {
    return (
      <select value={value} disabled={disabled} onChange={(event) => change(path, event.currentTarget.value)}>
        {meaning.choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.value}
          </option>
        ))}
      </select>
    );
  }
  // What has several values is written in the text.
  if (value.startsWith("[")) return <output class="several">{value}</output>;
  return <TextField path={path} value={value} disabled={disabled} />;
}

/** What is being typed stays when results of a run come in meanwhile, with which everything is drawn anew. */
function TextField({ path, value, disabled }: Omit<FieldOf, "meaning">) {
  const [typed, setTyped] = useState<string | null>(null);
  const take = (now: string): void => {
    setTyped(null);
    if (now !== value) change(path, now);
  };
  return (
    <input
      type="text"
      value={typed ?? value}
      disabled={disabled}
      data-path={path}
      onInput={(event) => setTyped(event.currentTarget.value)}
      onChange={(event) => take(event.currentTarget.value)}
      onBlur={() => setTyped(null)}
    />
  );
}

/** Writes a value into the text. All else follows from there. */
function change(path: string, typed: string): void {
  const before = text.value;
  const value = typed.trim();
  // True and false are the words that TOML has without quotes.
  const isTruth = ["true", "false"].includes(value) && meaningHere(path)?.isBare !== false;
  const made = withSettings(before, [isTruth ? { path, after: value, isBare: true } : { path, after: value }]);
  if (made !== null) edit(changesBetween(before, made));
  else notice.value = { kind: "word", text: `${path} cannot be written into this text as ${value}. Write it in the editor.` };
}

function meaningHere(path: string): Meaning | null {
  const keys = keysOf(path, written.value);
  if (!keys || !schema.value) return null;
  const kind = keys[0] === "workload" ? at(written.value, [...keys.slice(0, 2), "kind"]) : null;
  return meaningOf(schema.value, keys, typeof kind === "string" ? kind : null);
}

/** What a path is of: the first word, or of workloads the first two. */
function ownerOf(path: string): string {
  return path.split(".", path.startsWith("workload.") ? 2 : 1).join(".");
}

/** The line of the file that says it. */
function lineOf(parameter: ExplainedParameter): number | null {
  if (parameter.place.startsWith("catalog/")) return null;
  const found = /:(\d+)$/.exec(parameter.place);
  return found ? Number(found[1]) : null;
}
