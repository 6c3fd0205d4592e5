/** Values as a scenario has them, `4 KiB` or `450 ns`: read, spread between two of them, and written again. What they mean is the core's affair. */
import { UNITS } from "./units.ts";

export interface Quantity {
  /** In the smallest unit of its kind. */
  amount: number;
  /** As it was written; empty for a plain number. */
  unit: string;
}

/** What whole sizes are written in, the largest first. */
const BINARY = ["TiB", "GiB", "MiB", "KiB"];

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
  return knownOf(unit)?.kind ?? unit;
}

/** Writes an amount: bytes in the largest unit that they are whole multiples of, all else in the unit that is given. */
export function written(amount: number, unit: string): string {
  if (kindOfUnit(unit) === "bytes") {
    const whole = Math.round(amount);
    const largest = BINARY.find((each) => whole > 0 && whole % sizeOf(each) === 0) ?? "B";
    return `${whole / sizeOf(largest)} ${largest}`;
  }
  const number = Number((amount / sizeOf(unit)).toPrecision(DIGITS));
  return unit === "" ? String(number) : `${number} ${unit}`;
}

function sizeOf(unit: string): number {
  return knownOf(unit)?.size ?? 1;
}

function knownOf(unit: string): (typeof UNITS)[string] | undefined {
  return Object.hasOwn(UNITS, unit) ? UNITS[unit] : undefined;
}
