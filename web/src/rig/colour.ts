/** Colours of wires. */

/** Between two colours each: from which use on, and up to which. */
const STEPS = [
  ["idle", 0, "half", 0.5],
  ["half", 0.5, "most", 0.85],
  ["most", 0.85, "full", 1],
] as const;

/** From idle to full, by the part of the time that anything is on the wire. */
export function colourOfUse(use: number): string {
  if (use === 0) return "var(--wire-idle)";
  const [from, low, to, high] = STEPS.find((step) => use <= step[3]) ?? STEPS[2];
  const part = Math.round(((use - low) / (high - low)) * 100);
  return `color-mix(in oklab, var(--wire-${to}) ${part}%, var(--wire-${from}))`;
}
