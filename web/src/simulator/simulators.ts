/** Simulators of this page besides the one that plays its run. */
import { startSimulator } from "./client.ts";
import { simulatorsFor } from "./machine.ts";
import { Pool } from "./pool.ts";
import { isServed } from "./served.ts";

/** As many as the machine is good for, and not more than are of use. */
export function simulators(most = Number.POSITIVE_INFINITY): Pool {
  return new Pool(Math.min(most, simulatorsHere()), startSimulator);
}

/** How many this machine is good for. */
export function simulatorsHere(): number {
  const { hardwareConcurrency: cores, deviceMemory: memory } = navigator as Navigator & { deviceMemory?: number };
  return simulatorsFor({ cores, memory, isTouched: matchMedia("(pointer: coarse)").matches, isServed: isServed() });
}
