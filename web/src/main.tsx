import { render } from "preact";
import { App } from "./app.tsx";
import { EXAMPLES } from "./examples.ts";
import { learnWords, open, startLab } from "./state/lab.ts";
import { startLessons } from "./state/learning.ts";
import { opened } from "./state/share.ts";
import { notice } from "./state/store.ts";
import "uplot/dist/uPlot.min.css";
import "./style/base.css";
import "./style/diagnose.css";
import "./style/lab.css";
import "./style/lesson.css";
import "./style/rig.css";

const first = EXAMPLES[0];
if (first) open(first.text, first.file);
render(<App />, document.getElementById("lab") as HTMLElement);

/** A link that is opened in a page that is there already counts as well. */
async function readAddress(): Promise<void> {
  const link = await opened(location.hash);
  if (link.kind === "state") open(link.state.text, link.state.name);
  if (link.kind === "refused") notice.value = { kind: "word", text: link.reason };
}
window.addEventListener("hashchange", () => void readAddress());

await readAddress();
startLessons();
await startLab();
await learnWords();
