import { render } from "preact";
import { App } from "./app.tsx";
import { startComparing } from "./compare/state.ts";
import { EXAMPLES } from "./examples.ts";
import { startExploring } from "./explore/state.ts";
import { learnWords, open, startLab } from "./state/lab.ts";
import { startLessons } from "./state/learning.ts";
import { opened } from "./state/share.ts";
import { show } from "./state/sharing.ts";
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
if (first) open(first.text, first.file);
startComparing();
startExploring();
render(<App />, document.getElementById("lab") as HTMLElement);

/** A link that is opened in a page that is there already counts as well. */
async function readAddress(): Promise<void> {
  show(await opened(location.hash));
}
window.addEventListener("hashchange", () => void readAddress());

await readAddress();
startLessons();
await startLab();
await learnWords();
