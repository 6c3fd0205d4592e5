/** The page. */
import { isServed } from "./simulator/served.ts";
import { Chart } from "./views/chart.tsx";
import { Editor } from "./views/editor.tsx";
import { Examples } from "./views/examples.tsx";
import { Files } from "./views/files.tsx";
import { LessonChoice, LessonPanel } from "./views/learn.tsx";
import { LinkDetail } from "./views/link-detail.tsx";
import { Mistakes, Notices } from "./views/notices.tsx";
import { Answer, Tables } from "./views/results.tsx";
import { Rig } from "./views/rig.tsx";
import { RunBar } from "./views/run-bar.tsx";
import { Settings } from "./views/settings.tsx";

export function App() {
  return (
    <>
      <header>
        <h1>Lanewise lab</h1>
        <p class="purpose">
          What does a PCI Express link give, why not more, and what would help? Simulated packet by packet,{" "}
          {isServed() ? "by the server that this page came from." : "in this page; nothing leaves this machine."}
        </p>
        <Examples />
        <LessonChoice />
      </header>
      <Notices />
      <LessonPanel />
      <main>
        <section class="panel rig-panel" aria-label="The rig, and its run">
          <Answer />
          <RunBar />
          <Rig />
          <LinkDetail />
          <Chart />
          <Tables />
        </section>
        <div class="side">
          <section class="panel text-panel" aria-label="The scenario">
            <div class="row">
              <h2>Scenario</h2>
              <Files />
            </div>
            <Mistakes />
            <Editor />
          </section>
          <Settings />
        </div>
      </main>
    </>
  );
}
