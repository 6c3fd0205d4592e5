/** Two variants side by side: A is kept, B is the text in the editor. */
import { EXAMPLES } from "../examples.ts";
import { rate } from "../rig/words.ts";
import { isSound, fileName, text } from "../state/store.ts";
import { chosenFile, save } from "../views/files.tsx";
import { documentOf } from "./document.ts";
import { Report } from "./report.tsx";
import { type Side, type Whole, answerOf, chooseA, forgetA, giveUp, isWhole, keepAsA, keptA, shownB, sideA, sideB, simulate, swap, takeBack } from "./state.ts";
import { Tree } from "./tree.tsx";

export function CompareTab() {
  const [a, b, shown] = [sideA.value, sideB.value, shownB.value];
  const isOld = shown !== null && shown !== b;
  return (
    <section class="panel compare" aria-label="Two variants side by side">
      <Choice />
      {!keptA.value && (
        <p class="empty" id="compare-empty">
          Keep what is in the editor as A, or choose another scenario for it. Then edit the text: that is B. Both are simulated, and what is different
          between them is shown here.
        </p>
      )}
      {keptA.value && (
        <div class="two variants">
          <Variant letter="A" side={a} shown={isWhole(a) ? a : null} name={keptA.value.name} isOld={false} />
          <Variant letter="B" side={b} shown={shown} name={fileName.value} isOld={isOld} />
        </div>
      )}
      {isWhole(a) && shown && (
        <div class={isOld ? "old" : ""}>
          <p class="legend">
            On each wire: the part of the time that it is in use. Above → away from the host, below ← towards it. The pointer on a wire says its payload.
          </p>
          <Report a={a} b={shown} />
        </div>
      )}
    </section>
  );
}

function Choice() {
  const isKept = keptA.value !== null;
  const [a, b] = [sideA.value, sideB.value];
  const isSame = isKept && keptA.value?.text === text.value && keptA.value.name === fileName.value;
  return (
    <div class="files" role="toolbar" aria-label="What is compared">
      <button id="keep-a" class={isKept ? "" : "main"} disabled={!isSound.value || isSame} onClick={keepAsA}>
        Keep the text as A
      </button>
      <label>
        A is{" "}
        <select
          id="choose-a"
          value=""
          onChange={(event) => {
            const chosen = EXAMPLES.find((each) => each.file === event.currentTarget.value);
            if (chosen) chooseA({ text: chosen.text, name: chosen.file });
            event.currentTarget.value = "";
          }}
        >
          <option value="">an example…</option>
          {EXAMPLES.map((each) => (
            <option key={each.file} value={each.file}>
              {each.title}
            </option>
          ))}
        </select>
      </label>
      <label class="file-button">
        A from a file…
        <input id="file-a" type="file" accept=".toml,text/plain" onChange={(event) => void read(event.currentTarget)} />
      </label>
      {isKept && (
        <>
          <button id="swap" onClick={swap}>
            Swap A and B
          </button>
          <button id="take-back" disabled={isSame} onClick={takeBack} title="Puts the text of A into the editor. Undo takes it out.">
            Edit A
          </button>
          <button id="forget-a" onClick={forgetA}>
            Leave A
          </button>
        </>
      )}
      {isWhole(a) && isWhole(b) && (
        <button id="save-comparison" onClick={() => save("comparison.json", "application/json", `${JSON.stringify(documentOf(a, b), null, 2)}\n`)}>
          Save as JSON
        </button>
      )}
    </div>
  );
}

async function read(input: HTMLInputElement): Promise<void> {
  const file = await chosenFile(input);
  if (file) chooseA(file);
}

interface VariantOf {
  letter: string;
  /** As far as it has come. */
  side: Side | null;
  /** What there is to show; of an older text where it `isOld`. */
  shown: Whole | null;
  name: string;
  isOld: boolean;
}

function Variant({ letter, side, shown, name, isOld }: VariantOf) {
  return (
    <section class="variant" aria-label={`Variant ${letter}`}>
      <h2>
        <span class="letter">{letter}</span> {side?.explained?.title ?? shown?.explained.title ?? name} <small>{letter === "B" ? "in the editor" : name}</small>
      </h2>
      <Stage letter={letter} side={side} />
      {shown && (
        <div class={isOld ? "old" : ""}>
          <Answer side={shown} />
          <Tree name={letter} rig={shown.rig} results={shown.results} />
          <p class="legend">
            {shown.results.end_reason}, fingerprint <code class="fingerprint">{shown.results.fingerprint}</code>
          </p>
        </div>
      )}
    </section>
  );
}

function Stage({ letter, side }: { letter: string; side: Side | null }) {
  if (side?.stage === "done") return null;
  if (side?.stage === "failed") {
    return (
      <p class="mistake" role="status">
        {letter} cannot be simulated: {side.words} <button onClick={() => void simulate(side)}>Try again</button>
      </p>
    );
  }
  if (side?.stage === "waits") {
    return (
      <p role="status">
        {letter} is a large rig, or nothing runs after edits.{" "}
        <button class="main" onClick={() => void simulate(side)}>
          Simulate {letter}
        </button>
      </p>
    );
  }
  return (
    <p role="status">
      {letter} is {side?.stage === "run" ? "simulated" : "read"}… {side && <button onClick={giveUp}>Stop</button>}
    </p>
  );
}

function Answer({ side }: { side: Whole }) {
  const shown = answerOf(side);
  return (
    <div class="answer">
      <p class="total">
        {rate(shown.rate)}
        <small>{shown.of}</small>
      </p>
      <p>
        <strong>{side.results.limited_by?.sentence ?? "Nothing was found to limit it"}.</strong>
        {side.results.stalled_waiting.map((line) => (
          <span class="stalled" key={line}>
            {line}
          </span>
        ))}
      </p>
    </div>
  );
}
