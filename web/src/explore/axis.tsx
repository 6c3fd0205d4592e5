/** The choice of a parameter and of its values. */
import { useState } from "preact/hooks";
import { explained } from "../state/store.ts";
import { type Range, MOST_STEPS, inWords, kindOf, listOf, rangeOf, spread, valuesAround, valuesOf } from "./ranges.ts";
import { axes, choosePath, inForce, meaning, setValues } from "./state.ts";

const NAMES = ["First parameter", "Second parameter"];

export function AxisChoice({ index }: { index: number }) {
  const axis = axes.value[index];
  const [wrong, setWrong] = useState("");
  const name = NAMES[index] ?? "";
  const choose = (path: string): void => {
    const isTaken = axes.value.some((each, other) => other !== index && each.path === path);
    if (path === "" && index > 0) choosePath(index, null);
    else if (isTaken) return setWrong(`${path} is the other parameter already.`);
    else if (inForce(path) === undefined) return setWrong(path === "" ? "One parameter is needed." : `Nothing in the scenario is called ${path}.`);
    else choosePath(index, path);
    setWrong("");
  };
  return (
    <fieldset class="axis">
      <legend>{name}</legend>
      <div class="axis-path">
        <input
          type="text"
          id={`axis-${index}`}
          list="explore-paths"
          aria-label={`${name}: its path`}
          placeholder={index > 0 ? "none: choose one for a map" : "a path, as settings have it"}
          value={axis?.path ?? ""}
          onChange={(event) => choose(event.currentTarget.value.trim())}
        />
        {index > 0 && axis && <button onClick={() => choose("")}>Without it</button>}
      </div>
      {wrong && (
        <p class="mistake" role="alert">
          {wrong}
        </p>
      )}
      {axis && <Values index={index} name={name} path={axis.path} values={axis.values} />}
    </fieldset>
  );
}

function Values({ index, name, path, values }: { index: number; name: string; path: string; values: string[] }) {
  const now = explained.value && inForce(path);
  const known = meaning(path);
  const kind = kindOf(now ?? values[0] ?? "", known);
  const range = kind.kind === "amount" ? rangeOf(values) : null;
  const change = (part: Partial<Range>): void => {
    const next = range && spread({ ...range, ...part }, kind.kind === "amount" && kind.isWhole);
    if (next) setValues(index, next);
  };
  return (
    <>
      <p class="legend" title={known?.description ?? ""}>
        {known?.description && `${known.description} `}
        {now === undefined || now === null ? <strong class="warn">The scenario has no such parameter any more: choose another one.</strong> : `In force: ${now}. It takes ${inWords(kind)}.`}
      </p>
      <div class="axis-values">
        {range && (
          <>
            <label>
              From{" "}
              <input type="text" value={range.from} aria-label={`${name}: from`} data-axis={`${index}-from`} onChange={(event) => change({ from: event.currentTarget.value })} />
            </label>
            <label>
              to <input type="text" value={range.to} aria-label={`${name}: to`} data-axis={`${index}-to`} onChange={(event) => change({ to: event.currentTarget.value })} />
            </label>
            <label>
              in{" "}
              <input
                type="number"
                min={2}
                max={MOST_STEPS}
                value={range.steps}
                aria-label={`${name}: number of values`}
                data-axis={`${index}-steps`}
                onChange={(event) => change({ steps: event.currentTarget.valueAsNumber })}
              />{" "}
              values
            </label>
            <label>
              by{" "}
              <select value={range.spacing} aria-label={`${name}: spacing`} onChange={(event) => change({ spacing: event.currentTarget.value as Range["spacing"] })}>
                {range.spacing === "listed" && <option value="listed">as listed</option>}
                <option value="even">equal steps</option>
                <option value="factor">equal factors</option>
              </select>
            </label>
          </>
        )}
        <label class="axis-list">
          Values{" "}
          <input
            type="text"
            value={listOf(values)}
            aria-label={`${name}: its values, with commas between them`}
            data-axis={`${index}-values`}
            onChange={(event) => {
              const next = valuesOf(event.currentTarget.value);
              setValues(index, next.length > 0 ? next : valuesAround(now ?? values[0] ?? "", known));
            }}
          />
        </label>
      </div>
    </>
  );
}
