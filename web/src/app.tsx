/** The page. */
import { isServed } from "./simulator/served.ts";
import { Tabs } from "./tabs.tsx";
import { Editor } from "./views/editor.tsx";
import { Examples } from "./views/examples.tsx";
import { Files } from "./views/files.tsx";
import { Keys } from "./views/keys.tsx";
import { LessonChoice, LessonPanel } from "./views/learn.tsx";
import { Mistakes, Notices } from "./views/notices.tsx";
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
        <Keys />
      </header>
      <Notices />
      <LessonPanel />
      <main>
        <Tabs />
        <div class="side">
          <section class="panel text-panel" aria-label="The scenario">
            <div class="row">
              <h2>Scenario</h2>
              <button class="narrow" id="to-tabs" onClick={() => scrollTo(0, 0)}>
                Up ↑
              </button>
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
