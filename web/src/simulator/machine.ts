/** How many simulators at a time are good for a machine. */

/** What the machine is, as far as a page knows. */
export interface Machine {
  /** Threads that run at the same time; undefined where the browser does not say. */
  cores: number | undefined;
  /** Memory, GiB, as browsers round it; undefined where they do not say. */
  memory: number | undefined;
  /** A finger is its pointer, so that it is a phone or a tablet. */
  isTouched: boolean;
  /** The page's simulators are processes of a server. */
  isServed: boolean;
}

/** A few hundred points are not ready noticeably sooner with more. Assumed. */
const MOST = 8;
/** Of the pages that a server has simulators for, eight unless it was told otherwise: others may look at it, too. Assumed. */
const MOST_SERVED = 4;
/** Each takes tens of MB, and phones end pages that take much. Assumed. */
const MOST_OF_A_PHONE = 2;
/** Below it a machine counts as a phone, GiB. Assumed. */
const LITTLE_MEMORY = 4;

/** How many simulators at most: a core is left for the page. */
export function simulatorsFor({ cores, memory, isTouched, isServed }: Machine): number {
  const isSmall = isTouched || (memory !== undefined && memory < LITTLE_MEMORY);
  const most = isServed ? MOST_SERVED : isSmall ? MOST_OF_A_PHONE : MOST;
  return Math.min(most, Math.max(1, (cores ?? 2) - 1));
}
