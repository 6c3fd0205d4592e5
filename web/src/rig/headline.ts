/** The one number of a run, as the core states it. */

/** Results of a run, or its state while it goes on: both have the total. */
export interface Rated {
  /** Payload of all flows that are in the total, GB/s. */
  goodput_gb_per_s: number;
  flows: readonly { in_total: boolean }[];
}

export interface Headline {
  /** GB/s. */
  rate: number;
  /** What it is of. */
  of: string;
}

/** What one device reads and another writes, over a wire between them, is in the total once. */
export function headlineOf({ goodput_gb_per_s, flows }: Rated): Headline {
  const counted = flows.filter((flow) => flow.in_total).length;
  return { rate: goodput_gb_per_s, of: counted === 1 ? "of payload" : "of payload, all flows" };
}
