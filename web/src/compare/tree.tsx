/** The tree of a variant, its wires coloured by use: small, so that two of them stand beside each other. */
import type { Results } from "lanewise";
import { colourOfUse } from "../rig/colour.ts";
import { NARROW, type Wire, drawingOf } from "../rig/layout.ts";
import { memoryUse } from "../rig/memory-wire.ts";
import type { Rig } from "../rig/topology.ts";
import { fitted, percent, rate } from "../rig/words.ts";

export function Tree({ name, rig, results }: { name: string; rig: Rig; results: Results }) {
  const shown = drawingOf(rig, NARROW);
  const links = new Map(results.links.map((link) => [link.name, link]));
  const memory = (link: string, way: "upstream" | "downstream"): number => memoryUse(results, link, way) ?? 0;
  return (
    <div class="rig-scroll" tabindex={0} role="group" aria-label={`Picture of ${name}`}>
      <svg
        class={`rig small ${shown.isDense ? "dense" : ""}`}
        viewBox={`0 0 ${shown.width} ${shown.height}`}
        style={{ maxWidth: `${shown.width * 1.1}px`, minWidth: `${shown.width * 0.8}px` }}
        role="img"
        aria-label={`${rig.title}: wires coloured by use; the table of links has the numbers`}
      >
        {shown.wires.map((wire) => (
          <g class="wire" key={wire.device.name}>
            <Lane wire={wire} isUp={false} link={links.get(wire.device.name)} memory={memory(wire.device.name, "downstream")} />
            <Lane wire={wire} isUp={true} link={links.get(wire.device.name)} memory={memory(wire.device.name, "upstream")} />
          </g>
        ))}
        {shown.sideWires.map((side) => (
          <g class="side" key={side.name}>
            <path d={`M${side.x} ${side.y1}C${side.x + 34} ${side.y1} ${side.x + 34} ${side.y2} ${side.x} ${side.y2}`} />
            <text class="under" x={side.x + 30} y={(side.y1 + side.y2) / 2 + 3}>
              {side.name}
            </text>
          </g>
        ))}
        {shown.boxes.map(({ device, x, y, width, height }) => (
          <g class={`box ${device.kind}`} key={device.name}>
            <title>{device.name}</title>
            <rect x={x} y={y} width={width} height={height} rx={5} />
            <text class="name" x={x + 7} y={y + height / 2 + (device.link ? -1 : 4)}>
              {fitted(device.name, (width - 10) / 7.5)}
            </text>
            {device.link && (
              <text class="under" x={x + 7} y={y + height / 2 + 11}>
                {device.link.generation} {device.link.width}
              </text>
            )}
          </g>
        ))}
      </svg>
    </div>
  );
}

function Lane({ wire, isUp, link, memory }: { wire: Wire; isUp: boolean; link: Results["links"][number] | undefined; memory: number }) {
  const direction = link?.[isUp ? "upstream" : "downstream"];
  const use = Math.max(direction?.utilisation ?? 0, memory);
  const y = wire.y + (isUp ? 4 : -4);
  return (
    <g>
      <title>{`${wire.device.name}, ${isUp ? "upstream" : "downstream"}: ${rate(direction?.ladder.goodput_gb_per_s)} of payload, in use ${percent(use)}`}</title>
      <line x1={wire.x1} x2={wire.x2} y1={y} y2={y} stroke-width={4} style={{ stroke: colourOfUse(use) }} />
      {direction && (
        <text class="rate" x={(wire.x1 + wire.x2) / 2} y={isUp ? y + 12 : y - 5}>
          {isUp ? `← ${percent(use)}` : `${percent(use)} →`}
        </text>
      )}
    </g>
  );
}
