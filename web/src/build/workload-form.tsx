/** A form for another workload. What it may say comes from the schema, and whether it makes sense is for the core to say. */
import { computed, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { explained, rig, schema, selected, written } from "../state/store.ts";
import { tableAt } from "../toml/plain.ts";
import { everyDevice, withWorkload } from "./acts.ts";
import { attempted, closeWork, perform } from "./state.ts";
import { type Field, fieldsOf, kindsOf, literals } from "./work.ts";

const kind = signal("dma");
const filled = signal<Record<string, string>>({});

const kinds = computed(() => (schema.value ? kindsOf(schema.value) : []));
const fields = computed(() => (schema.value && fieldsOf(schema.value, kind.value)) ?? []);
/** Devices that work may name: groups, members, and drives behind adapters. */
const devices = computed<string[]>(() => {
  const names = rig.value ? everyDevice(rig.value).flatMap((each) => (each.kind === "endpoint" ? [each.name] : [])) : [];
  const groups = names.flatMap((name) => (name.endsWith("[0]") ? [name.replace("[0]", "[*]")] : []));
  return [...groups, ...names, ...Object.keys(tableAt(written.value, "storage"))];
});

export function WorkloadForm() {
  const chosen = kinds.value.find((each) => each.value === kind.value);
  const first = useRef<HTMLSelectElement>(null);
  // Opened from anywhere, the keyboard goes into it.
  useEffect(() => first.current?.focus({ preventScroll: matchMedia("(hover: none)").matches }), []);
  return (
    <form
      class="work-form"
      aria-label="Another workload"
      onSubmit={(event) => {
        event.preventDefault();
        void add();
      }}
      onKeyDown={(event) => void (event.key === "Escape" && closeWork())}
    >
      <label>
        <span>kind</span>
        <select id="work-kind" ref={first} value={kind.value} onChange={(event) => ((kind.value = event.currentTarget.value), (filled.value = {}))}>
          {kinds.value.map((each) => (
            <option key={each.value}>{each.value}</option>
          ))}
        </select>
      </label>
      {fields.value.map((field) => (
        <FieldView key={`${kind.value} ${field.key}`} field={field} />
      ))}
      <div class="row">
        <button class="main" id="add-work">
          Add it
        </button>
        <button type="button" onClick={closeWork}>
          Close
        </button>
        <p class="hint">{chosen?.description}</p>
      </div>
    </form>
  );
}

function FieldView({ field }: { field: Field }) {
  const { key } = field;
  const value = valueOf(field);
  const put = (next: string): void => void (filled.value = { ...filled.value, [key]: next });
  const choices = field.names === "device" && field.isRequired ? devices.value : field.names === "network" ? networks() : field.choices.map((choice) => choice.value);
  return (
    <label title={field.description}>
      <span>
        {key}
        {!field.isRequired && <small> (if not as usual)</small>}
      </span>
      {choices.length > 0 ? (
        <select data-key={key} value={value} onChange={(event) => put(event.currentTarget.value)}>
          {!field.isRequired && <option value="" />}
          {choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : (
        <input type="text" data-key={key} value={value} placeholder={field.example} onInput={(event) => put(event.currentTarget.value)} list={field.names === "device" ? "work-devices" : undefined} />
      )}
      {field.names === "device" && !field.isRequired && (
        <datalist id="work-devices">
          {devices.value.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      )}
    </label>
  );
}

/** What is filled in, or what it begins with: the device that is chosen, else the first choice of what is needed. */
function valueOf(field: Field): string {
  const said = filled.value[field.key];
  if (said !== undefined || !field.isRequired) return said ?? "";
  if (field.names === "device") return devices.value.find((name) => name === selected.value) ?? devices.value[0] ?? "";
  if (field.names === "network") return networks()[0] ?? "";
  return field.choices[0]?.value ?? "";
}

function networks(): string[] {
  return Object.keys(tableAt(written.value, "network"));
}

async function add(): Promise<void> {
  const all = Object.fromEntries(fields.value.map((field) => [field.key, valueOf(field)]));
  if (!explained.value || !(await perform([attempted((now) => withWorkload(now, literals(kind.value, fields.value, all)))]))) return;
  closeWork();
  filled.value = {};
}
