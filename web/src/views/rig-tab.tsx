/** The rig as a picture, and its run. */
import { BuildBar } from "../build/build-bar.tsx";
import { Chart } from "./chart.tsx";
import { LinkDetail } from "./link-detail.tsx";
import { Answer, Tables } from "./results.tsx";
import { Rig } from "./rig.tsx";
import { RunBar } from "./run-bar.tsx";

export function RigTab() {
  return (
    <section class="panel rig-panel" aria-label="The rig, and its run">
      <Answer />
      <RunBar />
      <BuildBar />
      <Rig />
      <LinkDetail />
      <Chart />
      <Tables />
    </section>
  );
}
