/** The comparison as `lanewise compare A B --json` writes it. */
import type { Compare } from "lanewise";
import { compared } from "./comparison.ts";
import type { Whole } from "./state.ts";

export function documentOf(a: Whole, b: Whole): Compare {
  const side = ({ name, results }: Whole): Compare["a"] => ({ name, end_reason: results.end_reason, limited_by: results.limited_by?.sentence ?? null });
  // What differs is shown beside the texts; each of it alone is for the command line, which has the time.
  return { format: 1, a: side(a), b: side(b), ...compared(a.results, b.results), explained: null };
}
