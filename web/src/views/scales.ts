/** Scales of the chart of rates: both begin at nothing, so that a few looks late in a run do not pass as all of it. */
export const SCALES = {
  x: { time: false, range: (_: unknown, _low: number, high: number): [number, number] => [0, high] },
  y: { range: (_: unknown, _low: number, high: number): [number, number] => [0, Math.max(high * 1.08, 1e-6)] },
};
