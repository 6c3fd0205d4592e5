/** Latencies of results. */

/** The mean, ns. Of nothing there is none, where older results say 0; nor of what a run does not have. */
export function meanOf(latency: { count: number; mean: number | null } | null | undefined): number | null {
  return latency && latency.count > 0 ? latency.mean : null;
}
