/** The space-time diagram on the page: a canvas, its pointer and its keys. */
import { computed, effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { HEAD, type Palette, type Scene, draw } from "./draw.ts";
import { strokeAt } from "./hit.ts";
import { type Stroke, type Strokes, strokesOf } from "./model.ts";
import { chosen, chosenRow, choose, drawPath, path, paths, relatives, rows, story, trace } from "./state.ts";
import { HEIGHT, bounds, fit, pan, reveal, view, zoom } from "./view.ts";
import { title } from "./words.ts";

/** So many packets are shown at first. */
const AT_FIRST = 40;
/** A press that moves less is a click. */
const CLICK = 4;

const strokes = computed<Strokes>(() => {
  const way = path.value;
  return way && trace.value ? strokesOf(rows.value, way, trace.value.directions) : { all: [], longest: 0 };
});
const width = signal(0);
/** Grows when colours become others. */
const palettes = signal(0);

const scene = computed<Scene | null>(() => {
  const way = path.value;
  if (!way || width.value === 0) return null;
  const transaction = story.value?.kind === "found" ? story.value.transaction : null;
  const own = strokes.value.all.find((stroke) => stroke.index === chosen.value);
  return { path: way, strokes: strokes.value, view: view.value, width: width.value, chosen: own, relatives: new Set(relatives.value), transaction };
});

export function Diagram() {
  const canvas = useRef<HTMLCanvasElement>(null);
  const press = useRef<{ x: number; y: number; moved: number } | null>(null);
  useEffect(() => {
    const home = canvas.current as HTMLCanvasElement;
    return drawing(home);
  }, []);
  const at = (event: PointerEvent): Stroke | undefined => {
    const box = canvas.current?.getBoundingClientRect();
    return scene.value && box ? strokeAt(scene.value, event.clientX - box.left, event.clientY - box.top) : undefined;
  };
  return (
    <div class="diagram">
      <div class="packet-tools">
        <label>
          Way{" "}
          <select id="packet-path" value={path.value?.name ?? ""} onChange={(event) => drawPath(event.currentTarget.value)}>
            {paths.value.map(({ name, stations }) => (
              <option key={name} value={name}>
                {stations.join(" – ")}
              </option>
            ))}
          </select>
        </label>
        <span class="row-of-buttons" role="group" aria-label="What part of the time">
          <button id="zoom-in" aria-label="Larger" onClick={() => zoom(0.5)}>
            +
          </button>
          <button id="zoom-out" aria-label="Smaller" onClick={() => zoom(2)}>
            −
          </button>
          <button id="fit-all" onClick={() => fit(...bounds())}>
            All
          </button>
          <button id="fit-packet" disabled={!chosenRow.value} onClick={fitPacket}>
            Its wait
          </button>
          <button id="fit-request" disabled={story.value?.kind !== "found"} onClick={fitRequest}>
            Its request
          </button>
        </span>
      </div>
      <canvas
        ref={canvas}
        id="diagram"
        role="img"
        tabindex={0}
        style={{ height: `${HEAD + HEIGHT}px` }}
        aria-label={`Space-time diagram: ${path.value?.stations.join(", ") ?? "nothing"}, time downwards. ${chosenRow.value ? `Chosen: ${title(chosenRow.value)}. ` : ""}Arrow keys up and down move it, left and right go to the next packet, plus and minus zoom. The list has the same packets.`}
        onPointerDown={(event) => {
          press.current = { x: event.clientX, y: event.clientY, moved: 0 };
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event) => {
          const from = press.current;
          if (!from) {
            const over = at(event);
            event.currentTarget.title = over ? title(over.row) : "";
            return;
          }
          const moved = event.clientY - from.y;
          from.moved += Math.abs(moved) + Math.abs(event.clientX - from.x);
          [from.x, from.y] = [event.clientX, event.clientY];
          // A finger moves the page where the diagram is at its end; else a phone could not get past it.
          if (from.moved >= CLICK && !pan(-moved) && event.pointerType === "touch") scrollBy(0, -moved);
        }}
        onPointerUp={(event) => {
          const isClick = (press.current?.moved ?? CLICK) < CLICK;
          press.current = null;
          const hit = isClick ? at(event) : undefined;
          if (hit) choose(hit.index);
        }}
        onPointerCancel={() => (press.current = null)}
        onKeyDown={(event) => {
          const action = KEYS[event.key];
          if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
          event.preventDefault();
          action();
        }}
      />
      <p class="legend">
        Filled: TLPs, requests <i class="packet-swatch request" /> and completions <i class="packet-swatch completion" />. Dashed <i class="packet-swatch dllp" />: DLLPs. Dotted{" "}
        <i class="packet-swatch skp" />: ordered sets. Bar at a station <i class="packet-swatch held" />: a packet is held up. Cross: an error. The wheel moves, with Ctrl it zooms.
      </p>
    </div>
  );
}

const KEYS: Record<string, () => unknown> = {
  ArrowDown: () => pan(60),
  ArrowUp: () => pan(-60),
  PageDown: () => pan(HEIGHT * 0.9),
  PageUp: () => pan(-HEIGHT * 0.9),
  Home: () => reveal(bounds()[0], bounds()[0]),
  End: () => reveal(bounds()[1], bounds()[1]),
  "+": () => zoom(0.5),
  "=": () => zoom(0.5),
  "-": () => zoom(2),
  ArrowRight: () => next(1),
  ArrowLeft: () => next(-1),
};

/** The next packet of the way, or the one before. */
function next(step: 1 | -1): void {
  const all = strokes.value.all;
  const at = all.findIndex((stroke) => stroke.index === chosen.value);
  const inView = all.findIndex((stroke) => stroke.leaves >= view.value.top);
  const to = all[at < 0 ? Math.max(inView, 0) : at + step];
  if (to) choose(to.index);
}

/** From when on the chosen packet could leave until it has arrived. */
function fitPacket(): void {
  const row = chosenRow.value;
  if (row) fit(Math.min(row.ready_at_ticks ?? row.at_ticks, row.at_ticks), row.at_ticks + Math.max(row.span_ticks * 2, 1000));
}

/** From the issue of its request to its end. */
function fitRequest(): void {
  if (story.value?.kind !== "found") return;
  const { issued_at_ticks, latency_ticks } = story.value.transaction;
  fit(issued_at_ticks, issued_at_ticks + latency_ticks);
}

/** Draws whenever something has changed, once a frame; returns what ends that. */
function drawing(canvas: HTMLCanvasElement): () => void {
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  let frame = 0;
  const paint = (): void => {
    frame = 0;
    const now = scene.peek();
    if (!now) return;
    const ratio = devicePixelRatio || 1;
    const [wide, high] = [Math.round(now.width * ratio), Math.round((HEAD + HEIGHT) * ratio)];
    if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    canvas.dataset["drawn"] = String(draw(context, now, paletteOf(canvas)));
  };
  const stopDrawing = effect(() => {
    void [scene.value, palettes.value];
    frame ||= requestAnimationFrame(paint);
  });
  // Another trace begins with a few packets of it.
  const stopFitting = effect(() => {
    if (!trace.value) return;
    const all = strokesOf(rows.peek(), path.peek() ?? { name: "", stations: [], links: [] }, trace.value.directions).all;
    const until = all[Math.min(AT_FIRST, all.length - 1)];
    fit(all[0]?.leaves ?? 0, until?.left ?? 1);
  });
  const stopRevealing = effect(() => {
    const row = chosenRow.value;
    if (row) reveal(row.at_ticks, row.at_ticks + row.span_ticks);
  });
  const observer = new ResizeObserver(() => (width.value = canvas.clientWidth));
  observer.observe(canvas);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const recolour = (): number => palettes.value++;
  dark.addEventListener("change", recolour);
  // A listener of its own, since only one that is not passive may keep the page where it is.
  const wheel = (event: WheelEvent): void => {
    const y = event.clientY - canvas.getBoundingClientRect().top - HEAD;
    const zooms = event.ctrlKey || event.metaKey;
    if (zooms) zoom(2 ** (event.deltaY / 240), y);
    // At its end the page goes on.
    if (zooms || pan(event.deltaY)) event.preventDefault();
  };
  canvas.addEventListener("wheel", wheel, { passive: false });
  return () => {
    stopDrawing();
    stopFitting();
    stopRevealing();
    observer.disconnect();
    dark.removeEventListener("change", recolour);
    canvas.removeEventListener("wheel", wheel);
    cancelAnimationFrame(frame);
  };
}

function paletteOf(element: Element): Palette {
  const style = getComputedStyle(element);
  const of = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    panel: of("panel"), ink: of("ink"), soft: of("ink-soft"), rule: of("rule"), accent: of("accent"), bad: of("bad"),
    request: of("series-1"), completion: of("series-3"), dllp: of("series-2"), skp: of("series-6"), flit: of("series-4"),
  };
}

