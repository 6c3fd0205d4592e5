/** What is alike is shown once, as the package says what is: findings that differ in their addresses, devices that reach the same. */
import type { Doctor, DoctorFinding, Predict, PredictPrediction } from "lanewise";

/** A finding, and the addresses of others like it. */
export interface Alike {
  first: DoctorFinding;
  others: string[];
}

/** Findings that count, those that say the same of other addresses together. */
export function alike({ findings, alike: groups }: Pick<Doctor, "findings" | "alike">): Alike[] {
  return groups.flatMap((places) => {
    const [first, ...others] = places.flatMap((place) => findings[place] ?? []);
    return first ? [{ first, others: others.map(({ bdf }) => bdf) }] : [];
  });
}

/** Devices that are alike, and the benchmarks of the first. */
export interface Reached {
  addresses: string[];
  device: string;
  link: string;
  rows: PredictPrediction[];
}

/** Devices that are the same and reach the same together. */
export function reached({ predictions, alike: groups }: Pick<Predict, "predictions" | "alike">): Reached[] {
  return groups.flatMap((addresses) => {
    const rows = predictions.filter(({ bdf }) => bdf === addresses[0]);
    return rows[0] ? [{ addresses, device: rows[0].device, link: rows[0].link, rows }] : [];
  });
}
