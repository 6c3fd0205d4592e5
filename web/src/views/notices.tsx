/** What went wrong, and the mistakes of the scenario as a list: for readers who do not see the marks in the text. */
import { goToLine } from "../state/editing.ts";
import { mistakes, notice, remarks } from "../state/store.ts";

export function Notices() {
  const told = notice.value;
  if (!told) return null;
  return (
    <div class={`notice ${told.kind}`} role="alert" id="notice">
      <p>
        {told.text}{" "}
        {told.offer && (
          <button id="offer" onClick={told.offer.press}>
            {told.offer.label}
          </button>
        )}
      </p>
      <button onClick={() => (notice.value = null)} aria-label="Close this message">
        ✕
      </button>
    </div>
  );
}

export function Mistakes() {
  if (mistakes.value.length === 0 && remarks.value.length === 0) return null;
  return (
    <ul class="mistakes" id="mistakes" aria-label="Mistakes and remarks" aria-live="polite">
      {mistakes.value.map((each, index) => (
        <li key={index} class="mistake">
          {each.line !== null && <LineButton line={each.line} />} {each.message} {each.hint && <em>Hint: {each.hint}</em>}
        </li>
      ))}
      {remarks.value.map((each) => (
        <li key={each.path}>
          <code>{each.path}</code> {each.does}: {each.reason}
        </li>
      ))}
    </ul>
  );
}

/** That what is shown waits for the text: on tabs that cannot do anything before. */
export function WaitsForText() {
  const first = mistakes.value.find((each) => each.line !== null);
  if (mistakes.value.length === 0) return null;
  return (
    <p class="warn" role="status" id="waits-for-text">
      The text of the scenario has mistakes. Mend them first: {first?.line ? <LineButton line={first.line} /> : mistakes.value[0]?.message}
    </p>
  );
}

export function LineButton({ line }: { line: number }) {
  return (
    <button class="line" onClick={() => goToLine(line)}>
      line {line}
    </button>
  );
}
