/** Values as a scenario has them, `4 KiB` or `450 ns`: read, spread between two of them, and written again. What they mean is the core's affair. */

export interface Quantity {
  /** In the smallest unit of its kind. */
  amount: number;
  /** As it was written; empty for a plain number. */
  unit: string;
}

/** Sizes of units in the smallest of their kind. Prefixes: SI, and IEC 80000-13 for those with an i. */
const PREFIXES: Record<string, number> = { "": 1, k: 1e3, K: 1e3, M: 1e6, G: 1e9, T: 1e12, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 };
const TIMES: Record<string, number> = { ps: 1, ns: 1e3, us: 1e6, "µs": 1e6, "μs": 1e6, ms: 1e9, s: 1e12 };

/** `b` is a bit, as the core has it: of rates alone, which it refuses of sizes. */
const BITS = 8;

/** Digits that a value between two others is written with. */
const DIGITS = 4;

/** Reads a number with a unit; null for anything else. */
export function quantityOf(text: string): Quantity | null {
  const found = /^\s*(\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(|%|[a-zA-Zµμ]+(?:\/s)?)\s*$/.exec(text);
  if (!found) return null;
  const unit = found[2] ?? "";
  return { amount: Number((found[1] ?? "").replaceAll("_", "")) * sizeOf(unit), unit };
}

/** What can be told apart of units: bytes, rates, times, and those that are known by name only. */
export function kindOfUnit(unit: string): string {
  if (Object.hasOwn(TIMES, unit)) return "time";
  const bytes = bytesOf(unit);
  return bytes ? bytes.kind : unit;
}

/** Writes an amount: bytes in the largest unit that they are whole multiples of, all else in the unit that is given. */
export function written(amount: number, unit: string): string {
  if (kindOfUnit(unit) === "bytes") {
    const whole = Math.round(amount);
    const prefix = ["Ti", "Gi", "Mi", "Ki"].find((each) => whole > 0 && whole % (PREFIXES[each] as number) === 0);
    return prefix ? `${whole / (PREFIXES[prefix] as number)} ${prefix}B` : `${whole} B`;
  }
  const number = Number((amount / sizeOf(unit)).toPrecision(DIGITS));
  return unit === "" ? String(number) : `${number} ${unit}`;
}

function sizeOf(unit: string): number {
  return (Object.hasOwn(TIMES, unit) ? TIMES[unit] : bytesOf(unit)?.size) ?? 1;
}

function bytesOf(unit: string): { kind: "bytes" | "rate"; size: number } | null {
  const found = /^([kKMGT]i?)?([bB])(\/s)?$/.exec(unit);
  const size = found && (found[2] === "B" || found[3]) && PREFIXES[found[1] ?? ""];
  return size ? { kind: found[3] ? "rate" : "bytes", size: found[2] === "b" ? size / BITS : size } : null;
}
