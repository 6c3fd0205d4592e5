/** The comparison as `lanewise compare A B --json` writes it. */
import type { Compare } from "lanewise";
import { compared } from "./comparison.ts";
import type { Whole } from "./state.ts";

export function documentOf(a: Whole, b: Whole): Compare {
  const side = ({ name, results }: Whole): Compare["a"] => ({ name, end_reason: results.end_reason, limited_by: results.limited_by?.sentence ?? null });
  return { format: 1, a: side(a), b: side(b), ...compared(a.results, b.results) };
}
