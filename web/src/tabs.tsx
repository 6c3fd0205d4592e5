/** What the page shows beside the scenario, one at a time. Another one is a folder and a line here. */
import type { ComponentType } from "preact";
import { useRef } from "preact/hooks";
import { CompareTab } from "./compare/compare-tab.tsx";
import { ExploreTab } from "./explore/explore-tab.tsx";
import { DiagnoseTab } from "./diagnose/tab.tsx";
import { PacketsTab } from "./packets/packets-tab.tsx";
import { tab } from "./state/store.ts";
import { UnderstandTab } from "./understand/understand-tab.tsx";
import { WaitsForText } from "./views/notices.tsx";
import { RigTab } from "./views/rig-tab.tsx";

interface Tab {
  /** In the address of the page's parts, and in tests. */
  id: string;
  title: string;
  view: ComponentType;
}

const TABS: [Tab, ...Tab[]] = [
  { id: "rig", title: "Rig", view: RigTab },
  { id: "understand", title: "Understand", view: UnderstandTab },
  { id: "packets", title: "Packets", view: PacketsTab },
  { id: "compare", title: "Compare", view: CompareTab },
  { id: "explore", title: "Explore", view: ExploreTab },
  { id: "diagnose", title: "Diagnose", view: DiagnoseTab },
];

/** The choice of them, and the one that is chosen. */
export function Tabs() {
  const buttons = useRef<(HTMLButtonElement | null)[]>([]);
  const chosen = TABS.find(({ id }) => id === tab.value) ?? TABS[0];
  const at = TABS.indexOf(chosen);
  const choose = (index: number): void => {
    const one = TABS[(index + TABS.length) % TABS.length];
    if (!one) return;
    tab.value = one.id;
    buttons.current[TABS.indexOf(one)]?.focus();
  };
  const steps: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: TABS.length - 1 };
  return (
    <div class="tabs">
      <button class="narrow" id="to-text" onClick={() => document.querySelector(".text-panel")?.scrollIntoView()}>
        Text ↓
      </button>
      <div
        role="tablist"
        aria-label="What is shown"
        onKeyDown={(event) => {
          const to = steps[event.key];
          if (to === undefined) return;
          event.preventDefault();
          choose(to);
        }}
      >
        {TABS.map(({ id, title }, index) => (
          <button
            key={id}
            ref={(button) => void (buttons.current[index] = button)}
            id={`tab-${id}`}
            role="tab"
            aria-selected={index === at}
            aria-controls="tab"
            tabindex={index === at ? 0 : -1}
            onClick={() => choose(index)}
          >
            {title}
          </button>
        ))}
      </div>
      <div id="tab" role="tabpanel" aria-labelledby={`tab-${chosen.id}`}>
        {!["rig", "understand", "diagnose"].includes(chosen.id) && <WaitsForText />}
        <chosen.view />
      </div>
    </div>
  );
}
