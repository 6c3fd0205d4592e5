/** The points of an exploration: every value of one parameter with every value of the other. */

export interface Axis {
  /** As `explain` names the parameter. */
  path: string;
  values: string[];
}

/** Pairs of a path and a value, as `lanewise run --set` takes them. */
export type Overrides = [string, string][];

export interface GridPoint {
  /** Of the value of each axis. */
  at: number[];
  overrides: Overrides;
}

/** More take long and show no more. Assumed. */
export const MOST_POINTS = 400;

/** How many points axes have. */
export function countOf(axes: readonly Axis[]): number {
  return axes.length === 0 ? 0 : axes.reduce((product, { values }) => product * values.length, 1);
}

/** All points: along the first axis first. */
export function pointsOf(axes: readonly Axis[]): GridPoint[] {
  if (axes.length === 0) return [];
  return axes.reduceRight<GridPoint[]>(
    (points, { path, values }) => points.flatMap((point) => values.map((value, index) => ({ at: [index, ...point.at], overrides: [[path, value] as [string, string], ...point.overrides] }))),
    [{ at: [], overrides: [] }],
  );
}

/** The point at places on the axes; null where there is none. */
export function pointAt(axes: readonly Axis[], at: readonly number[]): GridPoint | null {
  const overrides = axes.map(({ path, values }, axis): [string, string | undefined] => [path, values[at[axis] ?? -1]]);
  if (overrides.length === 0 || overrides.some(([, value]) => value === undefined)) return null;
  return { at: [...at], overrides: overrides as Overrides };
}

/** The same for the same values, whatever the axes are. */
export function keyOf(overrides: Overrides): string {
  return JSON.stringify([...overrides].sort(([one], [other]) => (one < other ? -1 : 1)));
}
