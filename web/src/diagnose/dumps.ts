/** Dumps to try: those of `examples/`, which are made up. */
import gpuServer from "../../../examples/gpu-server.txt?packed";
import laptop from "../../../examples/laptop.txt?packed";
import { unpackedBase64 } from "../simulator/module.ts";
import type { Given } from "./protocol.ts";

export const DUMPS: readonly { name: string; title: string; packed: string }[] = [
  { name: "gpu-server.txt", title: "A server with eight GPUs, one on half its lanes", packed: gpuServer },
  { name: "laptop.txt", title: "A laptop with a fast drive in a slow slot", packed: laptop },
];

/** The file of one. */
export async function dump(name: string): Promise<Given[]> {
  const found = DUMPS.find((each) => each.name === name);
  return found ? [{ name, bytes: new Uint8Array(await unpackedBase64(found.packed)) }] : [];
}
