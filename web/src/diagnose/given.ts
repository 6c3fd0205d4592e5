/** Files that were dropped, chosen or pasted, before anything reads them. */
import type { Given } from "./protocol.ts";

/** Of all files together: what `lanewise scan` reads of one (`MOST_BYTES` in `python/lanewise/machine/unpacking.py`). */
export const MOST_BYTES = 64 << 20;

/** A text that is longer is not put into the field: fields get slow. */
export const LONGEST_IN_FIELD = 200_000;

/** What messages call a pasted text. */
export const PASTED = "pasted.txt";

/** Why such files are not read. */
export function largerThan(given: { name: string }[]): string {
  const whose = given.length === 1 ? `'${given[0]?.name ?? ""}' is` : "these files together are";
  return `${whose} larger than ${MOST_BYTES >> 20} MiB, which no dump of a machine is`;
}

/** Reads files; throws for more than may be, before it reads any. */
export async function readFiles(files: readonly File[]): Promise<Given[]> {
  const size = files.reduce((sum, each) => sum + each.size, 0);
  if (size > MOST_BYTES) throw new RangeError(largerThan(files.slice()));
  return Promise.all(files.map(async (file) => ({ name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) })));
}

/** A text as a file. */
export function ofText(text: string, name = PASTED): Given {
  return { name, bytes: new TextEncoder().encode(text) };
}

/** What the scenario of a machine is called. */
export function scenarioName(given: readonly Given[]): string {
  const stem = (given[0]?.name ?? "machine").replace(/(\.[A-Za-z0-9]{1,4})+$/, "");
  return `${stem || "machine"}.toml`;
}
