/** Which values of a parameter to try: from its kind and the value in force. */
import type { Meaning } from "../toml/schema.ts";
import { type Quantity, kindOfUnit, quantityOf, written } from "./quantity.ts";

/** What a parameter takes. */
export type Kind =
  | { kind: "choice"; choices: string[] }
  | { kind: "link" }
  | { kind: "amount"; isWhole: boolean; unit: string }
  | { kind: "word" };

/** Steps between two values. */
export interface Range {
  from: string;
  to: string;
  steps: number;
  /** By equal differences, by equal factors, or as they are written. */
  spacing: "even" | "factor" | "listed";
}

/** Words that stand for a value beside numbers: the core works it out, or there is no limit. */
const STANDING = ["auto", "none", "infinite"];
/** Steps of a range, as long as none are chosen. */
const STEPS = 7;
/** Steps that can be chosen for a range, at most. */
export const MOST_STEPS = 60;
/** What a number may be that is not in force yet. Assumed. */
const WHOLE_BASE = 16;

/** The kind of a parameter, from its value in force and from what the schema says of it. */
export function kindOf(value: string, meaning: Meaning | null): Kind {
  const choices = (meaning?.choices ?? []).map((each) => each.value).filter((each) => !STANDING.includes(each));
  if (choices.length > 1) return { kind: "choice", choices };
  if (value === "true" || value === "false") return { kind: "choice", choices: ["false", "true"] };
  if (LINK.test(value)) return { kind: "link" };
  const base = quantityOf(value) ?? baseOf(meaning);
  if (!base) return { kind: "word" };
  return { kind: "amount", isWhole: isWhole(base, meaning), unit: base.unit };
}

/** The kind in a few words, with what is allowed. */
export function inWords(kind: Kind): string {
  if (kind.kind === "choice") return `one of ${kind.choices.join(", ")}`;
  if (kind.kind === "link") return "a generation and a width, like gen4 x8";
  if (kind.kind === "word") return "a word";
  if (kind.unit !== "") return `an amount, in ${kind.unit} or another unit of it`;
  return kind.isWhole ? "a count" : "a number";
}

/** Values to try: all choices; powers of two around a power of two; else from a quarter of the value to twice it. */
export function valuesAround(value: string, meaning: Meaning | null): string[] {
  const kind = kindOf(value, meaning);
  if (kind.kind === "choice") return kind.choices;
  if (kind.kind === "link") return WIDTHS.map((width) => value.replace(/x\d+$/, width));
  if (kind.kind === "word") return [value];
  const now = quantityOf(value);
  const base = now ?? baseOf(meaning) ?? { amount: WHOLE_BASE, unit: "" };
  const around = amountsAround(base, kind.isWhole).map((amount) => written(amount, base.unit));
  return distinct(now ? around : [...around, value]);
}

/** Values from one to another; null where these are no amounts of one kind, or the steps lead nowhere. */
export function spread({ from, to, steps, spacing }: Range, isWhole: boolean): string[] | null {
  const [first, last] = [quantityOf(from), quantityOf(to)];
  if (!first || !last || kindOfUnit(first.unit) !== kindOfUnit(last.unit)) return null;
  if (!Number.isInteger(steps) || steps < 1 || steps > MOST_STEPS) return null;
  if (spacing === "factor" && (first.amount <= 0 || last.amount <= 0)) return null;
  const amounts = Array.from({ length: steps }, (_, index) => {
    const part = steps === 1 ? 0 : index / (steps - 1);
    return spacing === "factor" ? first.amount * (last.amount / first.amount) ** part : first.amount + part * (last.amount - first.amount);
  });
  return distinct(amounts.map((amount) => written(isWhole ? Math.round(amount) : amount, first.unit)));
}

/** The range that values are; null where they are none. */
export function rangeOf(values: string[]): Range | null {
  const amounts = values.map(quantityOf);
  const [first, last] = [values[0], values.at(-1)];
  if (first === undefined || last === undefined || amounts.length < 2 || amounts.some((each) => each === null)) return null;
  const numbers = amounts.map((each) => (each as Quantity).amount);
  const [start, second] = numbers as [number, number];
  const isEven = numbers.every((number, index) => near(number, start + index * (second - start)));
  const isFactor = start > 0 && numbers.every((number, index) => near(number, start * (second / start) ** index));
  return { from: first, to: last, steps: values.length, spacing: isEven ? "even" : isFactor ? "factor" : "listed" };
}

/** The values of a list as it is typed: between commas, or between semicolons where values have commas. */
export function valuesOf(list: string): string[] {
  return distinct(list.split(list.includes(";") ? ";" : ",").map((each) => each.trim()).filter((each) => each !== ""));
}

/** The other way round. */
export function listOf(values: string[]): string {
  return values.some((each) => each.includes(",")) ? `${values.join("; ")};` : values.join(", ");
}

/** The place of a value, or of the amount that is nearest to it; the first where nothing is near. */
export function nearest(values: string[], wanted: string | undefined): number {
  const [same, amount] = [values.indexOf(wanted ?? ""), quantityOf(wanted ?? "")?.amount];
  if (same >= 0 || amount === undefined) return Math.max(0, same);
  const distances = values.map((value) => Math.abs((quantityOf(value)?.amount ?? Number.POSITIVE_INFINITY) - amount));
  return Math.max(0, distances.indexOf(Math.min(...distances)));
}

const LINK = /^gen\d+ x\d+$/;
const WIDTHS = ["x1", "x2", "x4", "x8", "x16"];

/** Of what is `auto` or `none` now: an example of the schema, or a count. */
function baseOf(meaning: Meaning | null): Quantity | null {
  const example = meaning?.examples.map(quantityOf).find((each) => each !== null);
  return example ?? (meaning?.isWhole ? { amount: WHOLE_BASE, unit: "" } : null);
}

function isWhole({ amount, unit }: Quantity, meaning: Meaning | null): boolean {
  if (unit !== "") return kindOfUnit(unit) === "bytes";
  return meaning ? meaning.isWhole : Number.isInteger(amount);
}

function amountsAround({ amount, unit }: Quantity, isWhole: boolean): number[] {
  const count = Array.from({ length: STEPS }, (_, index) => index);
  if (amount === 0 && isWhole) return count;
  // Of what has no value now: rates of errors go by tens, times by hundreds of ns.
  if (amount === 0 && unit === "") return count.map((index) => (index === 0 ? 0 : 10 ** (index - 10)));
  if (amount === 0) return count.map((index) => index * 1e5);
  if (isWhole && isPowerOfTwo(amount)) {
    const least = Math.max(1, amount / 8);
    return count.map((index) => least * 2 ** index);
  }
  const amounts = count.map((index) => (amount * (index + 1)) / 4);
  return isWhole ? amounts.map((each) => Math.max(1, Math.round(each))) : amounts;
}

function isPowerOfTwo(amount: number): boolean {
  return Number.isInteger(Math.log2(amount));
}

function near(one: number, other: number): boolean {
  return Math.abs(one - other) <= 0.005 * Math.abs(other);
}

function distinct(values: string[]): string[] {
  return [...new Set(values)];
}
