/** Free ports in the picture: a place to drop something on, and a button that opens the palette for it. */
import type { Stub } from "../rig/layout.ts";
import { ofPort } from "../rig/topology.ts";
import { drag, landing } from "./dragging.ts";
import { openPalette } from "./palette.tsx";

const LINE = 26;
const HEIGHT = 18;

export function FreePortsView({ stub, isShort }: { stub: Stub; isShort: boolean }) {
  const { ports, link } = stub.free;
  const first = ports[0] as string;
  const { port } = ofPort(first);
  const words = ports.length === 1 ? `${port} · ${link}` : `${port} and ${ports.length - 1} more · ${link}`;
  const shown = isShort ? words.replace(/ and (\d+) more/, " +$1") : words;
  const width = 24 + shown.length * 5.9;
  return (
    <g
      class={`free ${drag.value ? "waiting" : ""} ${landing(first)}`}
      role="button"
      tabindex={0}
      data-port={first}
      aria-label={`+ ${shown}, free: add to ${first}`}
      onClick={() => openPalette(first)}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        openPalette(first);
      }}
    >
      <line x1={stub.x} x2={stub.x + LINE} y1={stub.y} y2={stub.y} />
      <rect x={stub.x + LINE} y={stub.y - HEIGHT / 2} width={width} height={HEIGHT} rx={9} />
      <text class="plus" x={stub.x + LINE + 8} y={stub.y + 4.5}>
        +
      </text>
      <text x={stub.x + LINE + 21} y={stub.y + 3.5}>
        {shown}
      </text>
    </g>
  );
}
