/** The one number of a run. */

export interface Rated {
  /** Direction and goodput of each flow, GB/s. */
  rates: [string, number][];
  /** Name of each link, with its goodput upstream and downstream, GB/s. */
  links: [string, number, number][];
}

export interface Headline {
  /** GB/s; undefined where nothing has a rate. */
  rate: number | undefined;
  /** What it is of. */
  of: string;
}

/**
 * Where a wire joins two devices the same bytes are read here and written there, so that a sum of flows would count them
 * twice: then it is what the busiest link carries.
 */
export function headlineOf({ rates, links }: Rated, isJoined: boolean): Headline {
  if (isJoined) {
    const directions = links.flatMap(([name, up, down]): [string, number][] => [[`${name}, upstream`, up], [`${name}, downstream`, down]]);
    const busiest = directions.sort((one, other) => other[1] - one[1])[0];
    return { rate: busiest?.[1], of: `over ${busiest?.[0]}` };
  }
  const sum = rates.filter(([direction]) => direction !== "control").reduce((total, [, one]) => total + one, 0);
  return { rate: sum, of: rates.length === 1 ? "of payload" : "of payload, all flows" };
}
