/** CXL.mem on a link: its flits have the wire, and the core counts them apart from TLPs, DLLPs and ordered sets. */

/** Results of a run, or its state while it goes on. */
interface Used {
  resources: readonly { name: string; kind: string; utilisation: number }[];
}

/** Part of the time in which flits of CXL.mem have the wire of a link, in one direction; null where the link carries none. */
export function memoryUse({ resources }: Used, link: string, way: "upstream" | "downstream"): number | null {
  const name = `${link}.${way === "upstream" ? "s2m" : "m2s"}`;
  return resources.find((each) => each.kind === "cxl_wire" && each.name === name)?.utilisation ?? null;
}
