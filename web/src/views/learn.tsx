/** Guided lessons: a choice of them, and the one that is on the page. */
import type { Results } from "lanewise";
import { LESSONS, type Lesson, type Try } from "../lessons/lessons.ts";
import { STEPS, measured, sentence, wireOf } from "../lessons/measures.ts";
import { attempt, learn, leave, lesson, resultsAfter, resultsBefore, tried } from "../state/learning.ts";
import { rate } from "../rig/words.ts";

export function LessonChoice() {
  return (
    <label class="examples">
      Learn{" "}
      <select
        id="lesson"
        value={lesson.value?.file ?? ""}
        onChange={(event) => {
          const chosen = LESSONS.find((each) => each.file === event.currentTarget.value);
          if (chosen) learn(chosen);
          else if (lesson.value) leave();
        }}
      >
        <option value="">No lesson</option>
        {LESSONS.map((each, index) => (
          <option key={each.file} value={each.file}>
            {index + 1}. {each.title}
          </option>
        ))}
      </select>
    </label>
  );
}

export function LessonPanel() {
  const now = lesson.value;
  if (!now) return null;
  const number = LESSONS.indexOf(now) + 1;
  const next = LESSONS[number];
  return (
    <section class="panel lesson" aria-label="Lesson">
      <div class="lesson-words">
        <h2>
          Lesson {number} of {LESSONS.length}: {now.title}
        </h2>
        <p class="question">{now.question}</p>
        <p>{now.look}</p>
        <div class="tries" role="group" aria-label="Try">
          <span aria-hidden="true">Try</span>
          {now.tries.map((each) => (
            <button key={each.label} aria-pressed={isTried(each)} onClick={() => attempt(each)}>
              {each.label}
            </button>
          ))}
          <button disabled={tried.value.kind === "nothing"} onClick={() => attempt(null)}>
            As it was
          </button>
        </div>
        <Moved of={now} />
        <p class="legend">
          More about it: <code>{now.page}</code>
        </p>
        <p class="tries">
          {next && <button onClick={() => learn(next)}>Next: {next.title}</button>}
          <button id="leave-lesson" onClick={leave}>
            Leave the lesson
          </button>
        </p>
      </div>
      <Ladder of={now} />
    </section>
  );
}

function isTried(each: Try): boolean {
  return tried.value.kind === "try" && tried.value.tried === each;
}

/** What an edit moved, with numbers of both runs. */
function Moved({ of }: { of: Lesson }) {
  return (
    <div id="moved" role="status">
      <MovedWords of={of} />
    </div>
  );
}

function MovedWords({ of }: { of: Lesson }) {
  const now = tried.value;
  const [before, after] = [resultsBefore.value, resultsAfter.value];
  if (now.kind === "other") return <p>You have changed the rig yourself: what it gives now is said below.</p>;
  if (now.kind === "nothing") return <p class="legend">Choose an edit: what it moves is said here.</p>;
  if (!before || !after) return <p>It is simulated…</p>;
  return (
    <>
      <ul>
        {now.tried.moves.map(([measure]) => (
          <li key={measure}>{sentence(measure, measured(measure, before, of.wire), measured(measure, after, of.wire))}</li>
        ))}
      </ul>
      <p>{now.tried.why}</p>
    </>
  );
}

/** The efficiency ladder of the wire that the lesson is about; beside it, what it was before the edit. */
function Ladder({ of }: { of: Lesson }) {
  const before = resultsBefore.value;
  const after = tried.value.kind === "try" ? resultsAfter.value : null;
  const shown: Results | null = after ?? before;
  if (!shown || !before) return null;
  const [now, was] = [wireOf(shown, of.wire).ladder, wireOf(before, of.wire).ladder];
  const widest = Math.max(now.line_rate_gb_per_s, was.line_rate_gb_per_s);
  const part = (value: number): string => `${(100 * value) / widest}%`;
  return (
    <table class="ladder" id="ladder">
      <caption>
        From lanes to payload: link of {of.wire.link}, {of.wire.direction}
      </caption>
      <thead>
        <tr>
          <th scope="col">Step</th>
          <th scope="col">Rate</th>
          {after && <th scope="col">As it was</th>}
        </tr>
      </thead>
      <tbody>
        {STEPS.map(([key, name, meaning]) => (
          <tr key={key}>
            <th scope="row">
              {name} <small>{meaning}</small>
              <span class="track" aria-hidden="true">
                {after && <span class="was" style={{ width: part(was[key]) }} />}
                <span class="bar" style={{ width: part(now[key]) }} />
              </span>
            </th>
            <td class="number">{rate(now[key])}</td>
            {after && <td class="number">{rate(was[key])}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
