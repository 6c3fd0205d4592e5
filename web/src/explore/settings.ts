/** What is chosen of an exploration, as links and files hold it. */
import { isTable } from "../toml/plain.ts";
import { type Axis, countOf } from "./grid.ts";
import { type Metric, isMetric } from "./metrics.ts";

export interface Settings {
  axes: Axis[];
  metric: Metric;
  at: number[];
}

/** Longer ones are no paths or values. */
const LONGEST = 300;
/** More points than this is none that this page can have made: it refuses to compute far fewer. */
const MOST = 10_000;

/** Reads them; null where they are something else. */
export function readSettings(saved: unknown): Settings | null {
  if (!isTable(saved) || !Array.isArray(saved["axes"]) || !Array.isArray(saved["at"]) || !isMetric(saved["metric"])) return null;
  const [axes, at] = [saved["axes"] as unknown[], saved["at"] as unknown[]];
  if (axes.length > 2 || !axes.every(isAxis) || countOf(axes) > MOST) return null;
  // A point sets each parameter once.
  if (new Set(axes.map(({ path }) => path)).size < axes.length) return null;
  if (at.length !== axes.length || !at.every((each, axis) => isPlace(each, axes[axis] as Axis))) return null;
  const { quantity, of } = saved["metric"];
  return { axes: axes.map(({ path, values }) => ({ path, values })), metric: { quantity, of }, at: at as number[] };
}

function isAxis(value: unknown): value is Axis {
  return isTable(value) && isWord(value["path"]) && Array.isArray(value["values"]) && value["values"].length > 0 && value["values"].every(isWord);
}

function isWord(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= LONGEST;
}

function isPlace(value: unknown, { values }: Axis): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value < values.length;
}
