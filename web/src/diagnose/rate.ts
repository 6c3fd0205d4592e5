/** How simulated rates are written: those that had not settled are marked, as `lanewise predict` does. */

/** Half of a confidence interval, in percent, up to which a rate has settled. */
const SETTLED_PERCENT = 1;

export function rate(value: number | null, halfWidthPercent: number | null, digits = 2): string {
  if (value === null) return "–";
  if (!value || halfWidthPercent === null || halfWidthPercent <= SETTLED_PERCENT) return value.toFixed(digits);
  const decimals = 1 - Math.floor(Math.log10(value));
  return `~${Number(value.toPrecision(2)).toFixed(Math.max(0, decimals))}`;
}
