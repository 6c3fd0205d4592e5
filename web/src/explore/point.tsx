/** The point that is looked at: a slider for each parameter, its numbers, and its way into the text. */
import { isSound } from "../state/store.ts";
import { QUANTITIES, titleOf, valueOf } from "./metrics.ts";
import { saidOf } from "./points.ts";
import { axes, choose, chosen, computeChosen, isOutdated, metric, point, pointFound, takeOver } from "./state.ts";

export function PointView() {
  return (
    <div class="point" id="explore-point">
      <div class="sliders">
        {axes.value.map(({ path, values }, index) => (
          <label key={path} class="slider">
            <span>
              <code>{path}</code> = <output>{values[chosen.value[index] ?? 0]}</output>
            </span>
            <input
              type="range"
              id={`slider-${index}`}
              min={0}
              max={values.length - 1}
              step={1}
              disabled={values.length < 2}
              value={chosen.value[index] ?? 0}
              aria-valuetext={values[chosen.value[index] ?? 0]}
              onInput={(event) => choose(chosen.value.map((place, each) => (each === index ? event.currentTarget.valueAsNumber : place)))}
            />
          </label>
        ))}
      </div>
      <div class="answer" role="status">
        <PointAnswer />
      </div>
      <div class="row">
        <button id="explore-take" disabled={!isSound.value || !point.value} onClick={takeOver} title="Writes these values into the text. Undo takes them out.">
          Take it over into the text
        </button>
      </div>
    </div>
  );
}

function PointAnswer() {
  const found = pointFound.value;
  if (!found || (isOutdated.value && found.state === "under way")) {
    return (
      <p>
        Not computed yet.{" "}
        <button id="explore-one" disabled={!isSound.value} onClick={() => void computeChosen()}>
          Compute this point
        </button>
      </p>
    );
  }
  if (found.state === "under way") return <p>It is simulated…</p>;
  if (found.state === "failed") return <p class="mistake">It cannot be simulated: {found.words}</p>;
  const { digest } = found;
  const value = valueOf(metric.value, digest);
  return (
    <>
      <p class="total">
        {value === null ? "–" : QUANTITIES[metric.value.quantity].say(value)}
        <small>{titleOf(metric.value)}</small>
      </p>
      <p>
        <strong>{saidOf(digest)}</strong>{" "}
        <span class="legend">
          {digest.endReason}, fingerprint <code id="explore-fingerprint">{digest.fingerprint}</code>
        </span>
      </p>
    </>
  );
}
