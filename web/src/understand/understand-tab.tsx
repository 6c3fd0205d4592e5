/** The results as answers: what the rig gives, why not more, what would help, how long it takes, what is assumed. */
import { toTheEnd } from "../state/lab.ts";
import { isOutdated, isReady, isSound, mistakes, results, runStage, text } from "../state/store.ts";
import { isTooLong } from "../toml/limit.ts";
import { Assumed } from "./assumed.tsx";
import { Gives, WhyNotMore } from "./gives.tsx";
import { HowLong } from "./how-long.tsx";
import { base, isRead } from "./trials.ts";
import { WouldHelp } from "./would-help.tsx";

export function UnderstandTab() {
  const done = base.value;
  return (
    <section class="panel understand" aria-label="What the results mean">
      {done ? (
        <>
          <nav aria-label="Questions">
            {QUESTIONS.map(([id, words]) => (
              <a key={id} href={`#${id}`} onClick={(event) => goTo(event, id)}>
                {words}
              </a>
            ))}
          </nav>
          <Gives results={done} />
          <WhyNotMore results={done} />
          <WouldHelp results={done} />
          <HowLong results={done} />
          <Assumed results={done} />
        </>
      ) : (
        <Nothing />
      )}
    </section>
  );
}

const QUESTIONS = [
  ["gives", "What does it give?"],
  ["why-not-more", "Why not more?"],
  ["would-help", "What would help?"],
  ["how-long", "How long does an operation take?"],
  ["assumed", "What is assumed?"],
] as const;

/** The address carries the scenario: it is left alone. */
function goTo(event: Event, id: string): void {
  event.preventDefault();
  const heading = document.getElementById(id);
  heading?.setAttribute("tabindex", "-1");
  heading?.focus();
  heading?.scrollIntoView();
}

/** There are no results of this text yet. */
function Nothing() {
  const isPlaying = runStage.value === "playing";
  return (
    <div class="nothing" role="status">
      <p>
        {isTooLong(text.value)
          ? "This text is too long for a scenario, and was not read."
          : mistakes.value.length > 0
            ? "The text has mistakes, which are marked in it. Correct them, and the answers appear here."
            : isOutdated.value && results.value
              ? "The scenario has changed since it was simulated."
              : results.value?.changes?.length
                ? "Values were changed while it was simulated: simulate it as it is now, from the start."
                : isPlaying
                  ? "It is being simulated. The answers appear here as soon as the run is over."
                  : "The answers appear here as soon as the run is over."}
      </p>
      <button class="main" id="simulate" disabled={!isReady.value || !isSound.value || !isRead.value} onClick={() => void toTheEnd()}>
        Simulate to steady state
      </button>
    </div>
  );
}
