/** Rigs to start from. */
import { EMPTY, EXAMPLES } from "../examples.ts";
import { open } from "../state/lab.ts";
import { fileName, text } from "../state/store.ts";

export function Examples() {
  const groups = [...new Set(EXAMPLES.map((each) => each.group))];
  const named = EXAMPLES.find((each) => each.file === fileName.value);
  // One that was edited is none of them, so that it can be chosen again as it was.
  const isWhole = named?.text === text.value;
  return (
    <>
      <button id="new-rig" onClick={() => open(EMPTY.text, EMPTY.file)} title="A host alone, to build on. Undo brings back what was there.">
        New rig
      </button>
      <label class="examples">
        Example{" "}
        <select
          id="example"
          value={isWhole ? fileName.value : ""}
          onChange={(event) => {
            const chosen = EXAMPLES.find((each) => each.file === event.currentTarget.value);
            if (chosen) open(chosen.text, chosen.file);
          }}
        >
          {!isWhole && <option value="">{named ? `${named.title}, edited` : "None of these"}</option>}
          {groups.map((group) => (
            <optgroup key={group} label={group}>
              {EXAMPLES.filter((each) => each.group === group).map((each) => (
                <option key={each.file} value={each.file}>
                  {each.title}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      </label>
    </>
  );
}
