/** Latencies of results. */

/** The mean, ns. Of nothing there is none, where the core says 0; nor of what a run does not have. */
export function meanOf(latency: { count: number; mean: number } | null | undefined): number | null {
  return latency && latency.count > 0 ? latency.mean : null;
}
