/** A machine that was read: what it is, its picture, what is wrong with it, what it should reach. */
import { useEffect, useRef } from "preact/hooks";
import type { Doctor, Predict, Scan } from "lanewise";
import { Findings } from "./findings.tsx";
import type { Answered } from "./protocol.ts";
import { Predictions } from "./predictions.tsx";
import { saveJson, saveReport } from "./report.ts";
import { counted } from "./words.ts";
import { type Looked, doing, inSentences, isRefusal, openAsScenario } from "./state.ts";

export function MachinePart({ looked }: { looked: Looked }) {
  const { scan, svg, doctor, predict } = looked;
  const isBusy = doing.value !== null;
  return (
    <div class="machine" id="machine">
      <div class="row">
        <h2>{scan.hostname ?? scan.source}</h2>
        <div class="files">
          <button id="as-scenario" disabled={isBusy} onClick={() => void openAsScenario()}>
            Open as a scenario
          </button>
          <button id="save-findings" disabled={isBusy} onClick={() => saveJson(looked)}>
            Results (JSON)
          </button>
          <button id="save-report" disabled={isBusy} onClick={() => saveReport(looked)}>
            Report (HTML)
          </button>
        </div>
      </div>
      <div id="report">
        <Understood scan={scan} />
        {svg !== null && <Picture svg={svg} name={`Topology of ${scan.source}`} />}
        {doctor && <Part title="Findings" part={doctor} shown={(each: Doctor) => <Findings doctor={each} />} />}
        {predict && <Part title="What it should reach" part={predict} shown={(each: Predict) => <Predictions predict={each} />} />}
      </div>
    </div>
  );
}

function Understood({ scan }: { scan: Scan }) {
  const { functions, links, switches, relations } = scan.machine;
  const counts = [
    counted(functions.length, "function"),
    counted(links.length, "link"),
    ...(switches.length > 0 ? [counted(switches.length, "switch", "switches")] : []),
    ...(functions.length === 0 && relations.length > 0 ? [counted(relations.length, "relation")] : []),
  ];
  const unknown = scan.not_understood_lines;
  return (
    <>
      <p id="understood">
        Read as {scan.kinds.join(", ")}: {counts.join(", ")}.{unknown > 0 && ` ${counted(unknown, "line")} not understood.`}
      </p>
      {scan.notes.length > 0 && (
        <ul class="notes">
          {scan.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      {unknown > 0 && (
        <details>
          <summary>What was not understood</summary>
          <pre>{scan.not_understood.map(({ line, text }) => `${line}: ${text}`).join("\n")}</pre>
        </details>
      )}
    </>
  );
}

/** Python's SVG, as `lanewise draw` writes it. */
function Picture({ svg, name }: { svg: string; name: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const parsed = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
    if (parsed.localName !== "svg") return;
    for (const text of parsed.querySelectorAll("text")) {
      const words = text.textContent ?? "";
      if (withoutOptions(words) !== words) text.textContent = withoutOptions(words);
    }
    place.current?.replaceChildren(document.importNode(parsed, true));
  }, [svg]);
  return <div class="rig-scroll picture" id="tree" ref={place} tabindex={0} role="group" aria-label={name} />;
}

/** The words of the command line, without what only its options do. */
function withoutOptions(words: string): string {
  return words.replace(/; (--all shows them|name one with --device [^;]*)/g, "");
}

function Part<T extends object>({ title, part, shown }: { title: string; part: Answered<T>; shown: (part: T) => preact.JSX.Element }) {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {isRefusal(part) ? <p class="why">{withoutOptions(inSentences(part))}</p> : shown(part)}
    </section>
  );
}
