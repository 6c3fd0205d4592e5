/** The catalog as one looks for parts in it: what each is, how fast and how wide. */
import type { Part } from "lanewise";

/** Kinds in the order of the palette. What an endpoint is follows from the settings that its part has. */
const KINDS: readonly { title: string; stem: string; is: (part: Part) => boolean }[] = [
  { title: "NVMe drive", stem: "nvme", is: (part) => part.kind === "endpoint" && has(part, "nvme") },
  { title: "Accelerator", stem: "gpu", is: (part) => part.kind === "endpoint" && has(part, "copy_engine") },
  { title: "Network adapter", stem: "nic", is: (part) => part.kind === "endpoint" && (has(part, "rdma") || has(part, "ethernet")) },
  { title: "Storage adapter", stem: "hba", is: (part) => part.kind === "endpoint" && has(part, "adapter") },
  { title: "Other device", stem: "card", is: (part) => part.kind === "endpoint" },
  { title: "Switch", stem: "sw", is: (part) => part.kind === "switch" },
  { title: "Host", stem: "server", is: (part) => part.kind === "host" },
  { title: "Drives behind an adapter", stem: "disks", is: (part) => part.kind === "storage" },
  { title: "Operating system", stem: "os", is: (part) => part.kind === "system" },
];

export const KIND_TITLES: readonly string[] = KINDS.map((kind) => kind.title);

function has(part: Part, group: string): boolean {
  return part.parameters.some(({ path }) => path.startsWith(`${group}.`));
}

function kindOf(part: Part): (typeof KINDS)[number] | undefined {
  return KINDS.find((kind) => kind.is(part));
}

/** What it is, in a word or two. */
export function kindTitle(part: Part): string {
  return kindOf(part)?.title ?? part.kind;
}

/** What a device of this part is called by itself: `nvme`. */
export function stemOf(part: Part): string {
  return kindOf(part)?.stem ?? part.kind;
}

/** Generation and width of an endpoint; ports of a switch, slots of a host: `3 of gen4 x16, 1 of gen4 x8`. */
export function linksOf(part: Part): string {
  const value = (path: string): string | undefined => part.parameters.find((each) => each.path === path)?.value;
  const [generation, width] = [value("generation"), value("width")];
  if (generation && width) return `${generation} ${width}`;
  const links = new Map<string, number>();
  for (const { path, value: link } of part.parameters) {
    if (/^(ports|slots)\.[^.]+\.link$/.test(path)) links.set(link, (links.get(link) ?? 0) + 1);
  }
  return [...links].map(([link, count]) => `${count} × ${link}`).join(", ");
}

/** Whether it can be put somewhere by itself: sets of defaults have no slots or ports, retimers and cables are named by a link. */
function isWhole(part: Part): boolean {
  const places = { host: "slots.", switch: "ports." }[part.kind];
  return places === undefined ? kindOf(part) !== undefined : part.parameters.some(({ path }) => path.startsWith(places));
}

/** Those with every word, of one kind or of all; in the order of kinds, then of titles. */
export function partsFor(all: readonly Part[], words: string, kind: string): Part[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const fit = all.filter((part) => {
    const text = `${part.name} ${part.title} ${kindTitle(part)} ${linksOf(part)}`.toLowerCase();
    return isWhole(part) && (kind === "" || kindTitle(part) === kind) && wanted.every((word) => text.includes(word));
  });
  const order = (part: Part): number => KIND_TITLES.indexOf(kindTitle(part));
  return fit.sort((one, other) => order(one) - order(other) || one.title.localeCompare(other.title));
}
