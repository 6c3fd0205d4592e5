/** What a trace says, in words. Times are exact in ticks of 2⁻¹⁰ ps, and shown in ns with three digits behind the point. */
import type { Station, TraceRow, TraceWait } from "lanewise";

/** Ticks in a nanosecond. */
export const TICKS_PER_NS = 1_024_000;

/** A time or a span in ns, as the listing of `lanewise trace` has it. */
export function ns(ticks: number): string {
  return (ticks / TICKS_PER_NS).toFixed(3);
}

/** A span in the unit that suits it, to the picosecond. */
export function spanOf(ticks: number): string {
  const value = ticks / TICKS_PER_NS;
  return value >= 10_000 ? `${(value / 1000).toFixed(3)} µs` : `${value.toFixed(3)} ns`;
}

/** What a wait was for, for the name that the core has for it: short, and a sentence about it. */
const CAUSES: Record<string, [string, string]> = {
  wire: ["the wire", "packets before it in the same queue were on the wire"],
  arbitration: ["arbitration", "packets of another queue or class had the wire"],
  dllp: ["DLLPs", "Acks or credit updates were on the wire"],
  ordered_set: ["ordered sets", "ordered sets were on the wire"],
  replay: ["a replay", "packets were sent again after an error"],
  posted_header: ["credits (PH)", "the receiver had given no credit for the header of a posted request"],
  posted_data: ["credits (PD)", "the receiver had given too few credits for the data of a posted request"],
  non_posted_header: ["credits (NPH)", "the receiver had given no credit for the header of a non-posted request"],
  non_posted_data: ["credits (NPD)", "the receiver had given too few credits for the data of a non-posted request"],
  completion_header: ["credits (CplH)", "the receiver had given no credit for the header of a completion"],
  completion_data: ["credits (CplD)", "the receiver had given too few credits for the data of a completion"],
  retry_buffer: ["an Ack", "the retry buffer had no room until an Ack came"],
  ordering: ["ordering", "it may not pass an older packet that was held up"],
  core: ["the switch core", "the core of the switch was busy"],
  tlp_gap: ["the gap after a TLP", "the port keeps a minimum distance between packets"],
  down: ["the link", "the link was not up"],
  waking: ["the link", "the link was waking up"],
  boundary: ["a symbol boundary", "a packet starts on the next symbol boundary, or place in a flit"],
  tags: ["a tag", "every tag was in use"],
  tracking_entries: ["a tracking entry", "the host had no free entry to track the read in"],
  shared_queue: ["a shared queue", "it stood behind packets for other ports in a queue that root ports share"],
  completion_queue: ["a place", "it waited for a place in the root port's queue of completions"],
};

/** What a wait was for, in a few words. */
export function causeOf(wait: TraceWait): string {
  return CAUSES[wait.cause]?.[0] ?? wait.cause.replaceAll("_", " ");
}

/** The same in a sentence. */
export function sentenceOf(wait: TraceWait): string {
  return CAUSES[wait.cause]?.[1] ?? wait.cause.replaceAll("_", " ");
}

/** How long it waited in all, ticks. */
export function waited(row: TraceRow): number {
  return row.waits.reduce((sum, wait) => sum + wait.ticks, 0);
}

/** The longest parts of a wait first. */
export function byLength(waits: TraceWait[]): TraceWait[] {
  return waits.toSorted((a, b) => b.ticks - a.ticks);
}

/** What it waited for, the most first: "258.000: 148.000 the wire, 108.000 credits (PH)". Nothing of what did not wait. */
export function waitWords(row: TraceRow): string {
  if (row.waits.length === 0) return "";
  const parts = byLength(row.waits).map((wait) => `${ns(wait.ticks)} ${causeOf(wait)}`);
  return `${ns(waited(row))}: ${parts.join(", ")}`;
}

/** Header and data credits: left after a TLP, or the limit that a DLLP says. */
export function credits(row: TraceRow): string {
  if (row.channel === null || !["tlp", "dllp"].includes(row.kind)) return "–";
  return `${row.header_credits ?? "∞"}/${row.data_credits ?? "∞"}`;
}

/** What a row is of, for a heading: "MRd of card0, tag 121, 512 B at 0x10002fc00". */
export function title(row: TraceRow): string {
  const of = row.requester === null ? "" : ` of ${row.requester}`;
  const tag = row.tag === null ? "" : `, tag ${row.tag}`;
  const size = row.length_bytes === null ? "" : `, ${row.length_bytes} B`;
  const at = row.address === null ? "" : ` at ${row.address}`;
  const note = row.note === "" ? "" : `, ${row.note}`;
  return `${row.what}${of}${tag}${size}${at}${row.kind === "tlp" ? note : ""}`;
}

/** A kind of row in words. */
export const KINDS: Record<string, string> = {
  tlp: "TLPs",
  dllp: "DLLPs",
  skp: "Ordered sets",
  flit: "Flits",
  blocked: "Held up",
  queued: "Joins a queue",
  error: "Errors",
};

/** Where a request was, in the words of `lanewise trace --transaction`. */
export function placeOf(station: Station): string {
  const { place, stage } = station;
  switch (stage) {
    case "issue":
      return `${place}: issued, before it may leave`;
    case "queue":
      return `${place}: could leave, waits`;
    case "link":
      return `link ${place}, until it is checked`;
    case "forward":
      return `link ${place}, then ${station.then ?? ""}, until it could leave`;
    case "entry":
      return `${place}: waits within`;
    case "device":
      return `${place}: at work`;
    case "use":
      return `${place}: until the data can be used`;
    default:
      return "not recorded";
  }
}
