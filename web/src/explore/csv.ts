/** The points of an exploration as a table for other programs (RFC 4180), one row each, units in the names of columns. */
import type { Axis } from "./grid.ts";
import { type Metric, QUANTITIES, valueOf } from "./metrics.ts";
import type { PointRow } from "./points.ts";

/** Rows of all points, of those that are not there as well: they say why. */
export function csvOf(axes: readonly Axis[], metric: Metric, rows: readonly PointRow[]): string {
  const isTotal = metric.of === "" && (metric.quantity === "goodput" || metric.quantity === "operations");
  const chosen = isTotal ? [] : [`${QUANTITIES[metric.quantity].column} of ${metric.of}`];
  const head = [...axes.map(({ path }) => path), "state", ...chosen, "goodput_gb_per_s", "operations_per_s", "limited_by", "end_reason", "fingerprint", "message"];
  const lines = rows.map(({ point, found }) => {
    const digest = found?.state === "done" ? found.digest : null;
    const own = isTotal ? [] : [digest && valueOf(metric, digest)];
    const message = found?.state === "failed" ? found.words : null;
    const state = found?.state ?? "not computed";
    return [...point.overrides.map(([, value]) => value), state, ...own, digest?.goodput, digest?.operations, digest?.limit?.name, digest?.endReason, digest?.fingerprint, message];
  });
  return [head, ...lines].map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}

function cell(value: string | number | null | undefined): string {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
