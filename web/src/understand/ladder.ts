/**
 * The efficiency ladder of one direction of a link: what is left of the line rate at each step, and a sentence that says what the step
 * costs and why, with the numbers of the run.
 *
 * All numbers are those of the results.
 */
import type { Direction, Link, Results } from "lanewise";
import { memoryUse } from "../rig/memory-wire.ts";
import { cause, percent, rate, whole } from "../rig/words.ts";
import { SENT } from "./known-uses.ts";

export type Way = "upstream" | "downstream";

/** A direction of a link, by the device below it. */
export interface Wire {
  link: string;
  direction: Way;
}

export interface Rung {
  key: "line" | "encoding" | "ordered_sets" | "dllps" | "replays" | "silence" | "payload";
  name: string;
  /** What is left, GB/s. */
  left: number;
  /** What the step takes, GB/s; 0 for the first. */
  cost: number;
  /** What it costs, and why. */
  sentence: string;
}

/** Causes of silence that a sentence names. */
const MOST_CAUSES = 3;
const WORTH_A_WORD = 0.0005;
/** Payload of a direction that data goes over, rather than what goes with it. */
const MUCH = 0.05;
/** Bytes of the longest header of a TLP outside of Flit Mode: PCIe Base 6.3 §2.2.1. */
const LONGEST_HEADER = 16;

/** @throws when results have no such link */
export function linkOf(results: Results, { link }: Wire): Link {
  const found = results.links.find((each) => each.name === link);
  if (!found) throw new Error(`the results have no link of ${link}`);
  return found;
}

/** @throws when results have no such link */
export function ladderOf(results: Results, wire: Wire): Rung[] {
  const link = linkOf(results, wire);
  const direction = link[wire.direction];
  const { ladder, time_attribution: shares } = direction;
  const share = (use: string): number => shares[use] ?? 0;
  const rungs: Omit<Rung, "cost">[] = [
    { key: "line", name: "Line rate", left: ladder.line_rate_gb_per_s, sentence: lineWords(link, ladder.line_rate_gb_per_s) },
    { key: "encoding", name: "After line encoding", left: ladder.coded_gb_per_s, sentence: encodingWords(link, ladder) },
    { key: "ordered_sets", name: "After ordered sets", left: ladder.link_bandwidth_gb_per_s, sentence: `Ordered sets (SKP), by which the receiver keeps up with the transmitter's clock, took ${percent(share("ordered_set"))} of the time.` },
    { key: "dllps", name: "After DLLPs", left: ladder.tlp_bandwidth_gb_per_s, sentence: dllpWords(link, wire.direction) },
    { key: "replays", name: "After replays", left: ladder.after_replays_gb_per_s, sentence: replayWords(direction) },
    { key: "silence", name: "After silence", left: ladder.sent_gb_per_s, sentence: silenceWords(results, wire, direction) },
    { key: "payload", name: "Payload", left: ladder.goodput_gb_per_s, sentence: aroundWords(link, direction) },
  ];
  // Floats: a step takes nothing, or something.
  return rungs.map((rung, index) => ({ ...rung, cost: Math.max(0, (rungs[index - 1]?.left ?? rung.left) - rung.left) }));
}

/** The wire whose ladder says most: that of the limit, else the one that is in use most. */
export function telling(results: Results): Wire | null {
  const [named] = limitingWires(results);
  if (named) return named;
  const use = ({ link, direction }: Wire): number => memoryUse(results, link, direction) ?? results.links.find((each) => each.name === link)?.[direction].utilisation ?? 0;
  return wires(results).sort((one, other) => use(other) - use(one))[0] ?? null;
}

/** The wires that limit a run: the one that is named, then those alike. */
export function limitingWires({ limited_by: limit }: Results): Wire[] {
  return limit?.kind === "wire" ? limit.places.map(({ component, direction }) => ({ link: component, direction: direction as Way })) : [];
}

export function isOneOf(wires: readonly Wire[], { link, direction }: Wire): boolean {
  return wires.some((wire) => wire.link === link && wire.direction === direction);
}

/** Every direction of every link, in the order of the results. */
export function wires(results: Results): Wire[] {
  return results.links.flatMap(({ name }) => [{ link: name, direction: "upstream" }, { link: name, direction: "downstream" }] as Wire[]);
}

/** Part of the time in which nothing was on the wire. */
export function silence({ time_attribution: shares }: Direction): number {
  return Object.entries(shares).reduce((total, [use, share]) => (SENT.includes(use) ? total : total + share), 0);
}

function lineWords({ lanes, generation, width, gt_per_s }: Link, line: number): string {
  return `${generation} ${width}: ${number(gt_per_s)} GT/s on ${lanes === 1 ? "one lane" : `each of ${lanes} lanes`} are ${rate(line)} in this direction.`;
}

function encodingWords({ flit, line_code_data_bits: data, line_code_sent_bits: sent }: Link, { line_rate_gb_per_s, coded_gb_per_s }: Direction["ladder"]): string {
  if (data < sent) return `Of ${sent} bits on a lane ${data} are data: the line encoding takes ${rate(line_rate_gb_per_s - coded_gb_per_s)}, whatever is sent.`;
  return `Every bit on a lane is data${flit ? "; what protects a flit counts as framing" : ""}.`;
}

function dllpWords(link: Link, way: Way): string {
  const [direction, other] = way === "upstream" ? [link.upstream, link.downstream] : [link.downstream, link.upstream];
  const share = direction.time_attribution["dllp"] ?? 0;
  if (share === 0) return link.flit ? "In Flit Mode DLLPs have a place in every flit, and take no time of their own." : "No DLLP took any of the time.";
  const words = `DLLPs took ${percent(share)} of the time: they acknowledge the TLPs that come the other way, and give back credits for them.`;
  if (other.tlps === 0 || direction.dllps === 0) return words;
  return `${words} Over the whole run there were ${whole(direction.dllps)}, for ${whole(other.tlps)} TLPs that came the other way.`;
}

function replayWords({ replays, naks, time_attribution: shares }: Direction): string {
  if (replays === 0) return "Nothing was sent twice.";
  return `What was sent again took ${percent(shares["replay"] ?? 0)} of the time: ${whole(replays)} replays over the whole run, ${whole(naks)} of them asked for with a Nak.`;
}

function silenceWords(results: Results, wire: Wire, direction: Direction): string {
  const memory = memoryUse(results, wire.link, wire.direction);
  if (memory) return `TLPs and DLLPs leave the wire to CXL.mem, whose flits had it ${percent(memory)} of the time and which this ladder does not count.`;
  const silent = silence(direction);
  if (silent < WORTH_A_WORD) return "The wire was never silent: more would not fit.";
  const causes = Object.entries(direction.time_attribution)
    .filter(([use, share]) => !SENT.includes(use) && share >= WORTH_A_WORD)
    .sort((one, other) => other[1] - one[1]);
  const said = causes.slice(0, MOST_CAUSES).map(([use, share]) => `it ${cause(use)} (${percent(share)} of the time)`);
  const words = `Nothing was on the wire for ${percent(silent)} of the time: ${said.join(", ")}.`;
  const limit = results.limited_by;
  const isElsewhere = limit && !isOneOf(limitingWires(results), wire);
  const isIdle = (direction.time_attribution["idle"] ?? 0) >= silent / 2;
  // A direction that carries little was asked for little.
  const isUsed = (direction.time_attribution["payload"] ?? 0) >= MUCH;
  if (!isElsewhere || !isIdle || !isUsed) return words;
  return `${words} More would have come if it were not for this: ${limit.sentence.replace(/^Limited by /, "")}.`;
}

function aroundWords({ mps_bytes, flit }: Link, { tlps, time_attribution: shares }: Direction): string {
  const [payload, header, framing] = ["payload", "header", "framing"].map((use) => shares[use] ?? 0) as [number, number, number];
  if (payload === 0) {
    if (tlps === 0) return "No TLP went this way.";
    return `TLPs without payload, such as requests that read, took ${percent(header + framing)} of the time.`;
  }
  const per = (share: number): string => number((share / payload) * mps_bytes);
  const frame = flit ? "framing (of its flits: link layer, CRC, error correction)" : "framing (sequence number, LCRC, start and end)";
  const isCut = !flit && (header / payload) * mps_bytes > LONGEST_HEADER * 1.1;
  const cut = isCut ? " A TLP has one header of 12 or 16 B, so many TLPs carried less than that, or nothing." : "";
  return `Each ${mps_bytes} B of payload, the most that a TLP carries on this link (MPS), came with ${per(header)} B of headers and ${per(framing)} B of ${frame}: ${percent(header + framing)} of the time.${cut}`;
}

/** Three digits that count, without zeros behind. */
function number(value: number): string {
  return String(Number(value.toPrecision(3)));
}
