/** Guided lessons: a choice of them, and the one that is on the page. */
import { LESSONS, type Lesson, type Try } from "../lessons/lessons.ts";
import { measured, sentence } from "../lessons/measures.ts";
import { attempt, learn, leave, lesson, resultsAfter, resultsBefore, tried } from "../state/learning.ts";
import { ladderOf } from "../understand/ladder.ts";
import { Ladder } from "../understand/ladder-view.tsx";

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
      <LessonLadder of={now} />
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
function LessonLadder({ of }: { of: Lesson }) {
  const before = resultsBefore.value;
  const after = tried.value.kind === "try" ? resultsAfter.value : null;
  const shown = after ?? before;
  if (!shown || !before) return null;
  const caption = `From lanes to payload: link of ${of.wire.link}, ${of.wire.direction}`;
  return <Ladder id="ladder" caption={caption} rungs={ladderOf(shown, of.wire)} before={after && ladderOf(before, of.wire)} />;
}
