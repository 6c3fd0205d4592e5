/** Play, pause, step, to the end; and how far the run has come. */
import { SMALL, chooseSpeed, pause, play, restart, stepPacket, toTheEnd } from "../state/lab.ts";
import { isOnePacket, isOutdated, isReady, isSound, keepsGoing, lastStep, live, mistakes, results, rig, runStage, runsByItself, runsEnded, speed } from "../state/store.ts";
import { span, whole } from "../rig/words.ts";
import { LineButton } from "./notices.tsx";
import { FULL_SPEED } from "../simulator/player.ts";

/** Simulated seconds in a second, and how that is said. */
export const SPEEDS: [number, string][] = [
  [100e-9, "100 ns a second"],
  [1e-6, "1 µs a second"],
  [10e-6, "10 µs a second"],
  [100e-6, "100 µs a second"],
  [1e-3, "1 ms a second"],
  [FULL_SPEED, "as fast as it can"],
];

export function RunBar() {
  const isPlaying = runStage.value === "playing";
  const cannot = !isReady.value || !isSound.value;
  return (
    <div class="run-bar" role="toolbar" aria-label="Run">
      <button class="main" id="play" disabled={cannot} onClick={() => (isPlaying ? pause() : void play())}>
        {isPlaying ? "Pause" : runStage.value === "paused" && lastStep.value && !isOutdated.value ? "Go on" : "Play"}
      </button>
      <button id="step" disabled={cannot} onClick={() => void stepPacket()} title="Go on until a packet is sent">
        Step a packet
      </button>
      {!keepsGoing.value && (
        <button id="end" disabled={cannot} onClick={() => void toTheEnd()} title="Run until the results are narrow enough">
          To steady state
        </button>
      )}
      <button id="restart" disabled={cannot || runStage.value === "none"} onClick={() => void restart()}>
        Restart
      </button>
      <label>
        Speed{" "}
        <select id="speed" value={String(speed.value)} onChange={(event) => chooseSpeed(Number(event.currentTarget.value))}>
          {SPEEDS.map(([value, words]) => (
            <option key={words} value={String(value)}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <label title="A run ends when its results are narrow enough. With this it goes on, so that you can change a value and watch.">
        <input type="checkbox" id="keeps-going" checked={keepsGoing.value} onChange={(event) => (keepsGoing.value = event.currentTarget.checked)} />
        Keep going
      </label>
      <label title={`Rigs of up to ${SMALL} devices are simulated to steady state after every edit.`}>
        <input type="checkbox" id="by-itself" checked={runsByItself.value} onChange={(event) => (runsByItself.value = event.currentTarget.checked)} />
        Run after edits
      </label>
      <p class="clock" role="status" aria-live="off">
        <Clock />
      </p>
    </div>
  );
}

function Clock() {
  if (mistakes.value.length > 0 && rig.value) return <TextHasMistakes />;
  if (isOutdated.value) return <strong class="warn">The scenario has changed since this run began. Play runs the new one.</strong>;
  const done = results.value;
  if (done) {
    return (
      <>
        {done.end_reason}: {done.end_detail}. {span(done.simulated_s)} simulated, {whole(done.events)} events, fingerprint{" "}
        <code id="fingerprint" data-runs={runsEnded.value}>
          {done.fingerprint}
        </code>
      </>
    );
  }
  const state = live.value;
  if (!state) return <>{isReady.value ? `Nothing is simulated yet.${hint()}` : "The simulator starts…"}</>;
  return (
    <>
      {span(state.time_s)} simulated ({state.stage}), {whole(state.events)} events.
      {isOnePacket.value ? " One packet at a time." : ` Rates are of the last ${span(state.window_s)}.`}
    </>
  );
}

/** Why it does not begin by itself. */
function hint(): string {
  const count = rig.value?.count ?? 0;
  if (!runsByItself.value) return " Press Play.";
  return count > SMALL ? ` The rig has ${count} devices; those of more than ${SMALL} are simulated when you press Play.` : "";
}

function TextHasMistakes() {
  const line = mistakes.value.find((each) => each.line !== null)?.line;
  return (
    <>
      <strong class="warn">The text has mistakes. What is shown is of the last text without mistakes.</strong> {line && <LineButton line={line} />}
    </>
  );
}
