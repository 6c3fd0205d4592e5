/** How simulated rates are written: those that had not settled are marked, as `lanewise predict` does. */
export function rate(value: number | null, hasSettled: boolean, digits = 2): string {
  if (value === null) return "–";
  if (!value || hasSettled) return value.toFixed(digits);
  const decimals = 1 - Math.floor(Math.log10(value));
  return `~${Number(value.toPrecision(2)).toFixed(Math.max(0, decimals))}`;
}
