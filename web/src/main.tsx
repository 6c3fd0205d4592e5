import { render } from "preact";
import { App } from "./app.tsx";
import { startComparing } from "./compare/state.ts";
import { EXAMPLES } from "./examples.ts";
import { startExploring } from "./explore/state.ts";
import { learnWords, open, startLab } from "./state/lab.ts";
import { startLessons } from "./state/learning.ts";
import { opened } from "./state/share.ts";
import { show, stateNow } from "./state/sharing.ts";
import { keepState, keptState, linkIsOf } from "./state/kept.ts";
import { notice, text } from "./state/store.ts";
import "uplot/dist/uPlot.min.css";
import "./style/base.css";
import "./style/diagnose.css";
import "./style/lab.css";
import "./style/lesson.css";
import "./style/packets.css";
import "./style/rig.css";
import "./style/compare.css";
import "./style/explore.css";
import "./style/understand.css";
import "./style/build.css";

const first = EXAMPLES[0];
const kept = keptState();
if (first) open(first.text, first.file);
startComparing();
startExploring();
const anew = JSON.stringify(stateNow());
render(<App />, document.getElementById("lab") as HTMLElement);

/** A link that is opened in a page that is there already counts as well. */
async function readAddress(): Promise<void> {
  const link = await opened(location.hash);
  linkIsOf(link.kind === "state" ? link.state.text : text.peek());
  show(link);
}
window.addEventListener("hashchange", () => void readAddress());

/** What the tab had before a reload: it is back; beside a link it is offered. */
function bringBack(): void {
  const isUntouched = JSON.stringify(stateNow()) === anew;
  if (!kept || JSON.stringify(kept) === JSON.stringify(stateNow())) return;
  const back = (): void => show({ kind: "state", state: kept });
  const offer = (label: string, act: () => void) => ({ label, press: () => ((notice.value = null), act()) });
  if (!isUntouched) notice.value = { kind: "word", text: "The link in the address was opened.", offer: offer("Bring back what was here before the reload", back) };
  else {
    back();
    if (kept.text === first?.text) return;
    notice.value ??= { kind: "word", text: `${kept.name}, as this tab had it before the reload.`, offer: offer("Begin anew", () => first && open(first.text, first.file)) };
  }
}

await readAddress();
bringBack();
keepState();
startLessons();
await startLab();
await learnWords();
