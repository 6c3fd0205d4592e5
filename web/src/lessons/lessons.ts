/** Six lessons: each a rig of its own, a question, and edits of the rig with what they move. Numbers come from the simulation. */
import type { Wire } from "../understand/ladder.ts";
import type { Measure } from "./measures.ts";

/** Which way a number goes. */
export type Way = "more" | "less" | "as much";

/** An edit to try. Every one starts from the lesson's own rig. */
export interface Try {
  label: string;
  /** As `explain` names it; the rig's text has it. */
  path: string;
  value: string;
  /** What the edit moves, and which way. */
  moves: readonly (readonly [Measure, Way])[];
  /** The mechanism behind it. */
  why: string;
}

export interface Lesson {
  /** The file of its rig, in this folder. */
  file: string;
  title: string;
  question: string;
  /** Where on the page to look. */
  look: string;
  /** The direction of a link that the lesson is about. */
  wire: Wire;
  tries: readonly Try[];
  /** The page of the documentation that says more. */
  page: string;
}

export const LESSONS: readonly Lesson[] = [
  {
    file: "lesson-why-x8.toml",
    title: "Why x8 gives 6.x GB/s",
    question: "The slot has eight lanes of 8 GT/s, which looks like 8 GB/s. Why does the adapter write less?",
    look: "The ladder goes from the lanes to the payload. Coding takes little; the last step, to payload, is the large one.",
    wire: { link: "adapter", direction: "upstream" },
    tries: [
      {
        label: "256 B of payload in a packet",
        path: "server.mps_supported",
        value: "256 B",
        moves: [["payload", "more"], ["around", "less"]],
        why: "Header and framing of a packet are as long for little payload as for much. Larger packets carry fewer of them.",
      },
      {
        label: "512 B of payload in a packet",
        path: "server.mps_supported",
        value: "512 B",
        moves: [["payload", "more"], ["around", "less"]],
        why: "Each doubling of the payload about halves what headers and framing take, so each gains less than the one before.",
      },
      {
        label: "A slot with four lanes",
        path: "server.slots.slot1",
        value: "gen3 x4",
        moves: [["payload", "less"], ["of-line", "as much"]],
        why: "Half the lanes carry half the bytes. The part that coding, headers and framing take does not depend on the width.",
      },
    ],
    page: "docs/explanation/why-x8-gives-6.md",
  },
  {
    file: "lesson-payload.toml",
    title: "Payload and request size",
    question: "The firmware allows 512 B of payload in a packet. Why does an adapter that writes 64 B at a time get so little of the link?",
    look: "The wire is always in use, so look at what it carries: how much of its time goes to headers and framing?",
    wire: { link: "adapter", direction: "upstream" },
    tries: [
      {
        label: "Writes of 256 B",
        path: "workload.write.size",
        value: "256 B",
        moves: [["payload", "more"], ["around", "less"], ["requests", "less"]],
        why: "A write of 256 B is still one packet, with one header. Fewer packets in a second move more bytes.",
      },
      {
        label: "Writes of 4 KiB",
        path: "workload.write.size",
        value: "4 KiB",
        moves: [["payload", "more"], ["around", "less"], ["requests", "less"]],
        why: "The adapter cuts a large write into packets of the largest size that firmware allows.",
      },
      {
        label: "At most 128 B in a packet",
        path: "server.mps_supported",
        value: "128 B",
        moves: [["payload", "as much"], ["around", "as much"]],
        why: "The maximum is not a minimum: a packet never carries more than one operation asks for. Writes of 64 B do not meet the limit.",
      },
    ],
    page: "docs/explanation/transaction.md",
  },
  {
    file: "lesson-credits.toml",
    title: "Credits",
    question: "The adapter has data to send, and the wire is free. Why does it not send?",
    look: "A transmitter sends a packet only when the receiver has said that it has room. Look at how long the wire waits for posted data credits.",
    wire: { link: "adapter", direction: "upstream" },
    tries: [
      {
        label: "Room for 256 credits",
        path: "server.slots.slot1.credits.posted_data",
        value: "256",
        moves: [["payload", "more"], ["credits", "less"]],
        why: "The receiver has room for all that is sent until its first credits are back, so the wire is never silent.",
      },
      {
        label: "Room for 32 credits",
        path: "server.slots.slot1.credits.posted_data",
        value: "32",
        moves: [["payload", "less"], ["credits", "more"]],
        why: "With half the room, half as much is sent in each round trip of credits, whatever the link could carry.",
      },
      {
        label: "A link with four lanes",
        path: "server.slots.slot1.link",
        value: "gen4 x4",
        moves: [["payload", "less"], ["credits", "less"]],
        why: "Half the lanes cost far less than half the payload: a slower wire takes longer to use up the credits, and waits less for new ones.",
      },
    ],
    page: "docs/explanation/transaction.md",
  },
  {
    file: "lesson-tags.toml",
    title: "Tags and latency",
    question: "The adapter reads memory with eight tags, and the link is idle for much of the time. What does it wait for?",
    look: "Each request to read holds a tag until its data are there. Look at the time of a request, and at how long the wire that brings the data is idle.",
    wire: { link: "adapter", direction: "downstream" },
    tries: [
      {
        label: "16 tags",
        path: "adapter.tags",
        value: "16",
        moves: [["payload", "more"], ["idle", "less"]],
        why: "More requests are in flight in one round trip. Now they are enough to fill the link.",
      },
      {
        label: "64 tags",
        path: "adapter.tags",
        value: "64",
        moves: [["payload", "more"], ["idle", "less"], ["request", "more"]],
        why: "The link is full with fewer tags already. The other requests only wait in the queue for it, so each takes longer.",
      },
      {
        label: "Memory that answers in 200 ns",
        path: "server.memory_latency",
        value: "200 ns",
        moves: [["payload", "more"], ["request", "less"]],
        why: "A tag is free again sooner, so that the same number of tags moves more. Latency is a limit of rate where little is outstanding.",
      },
    ],
    page: "docs/explanation/why-x8-gives-6.md",
  },
  {
    file: "lesson-switch.toml",
    title: "A switch in the path",
    question: "The drive's link is as wide behind the switch as in a slot. Does the switch make it slower?",
    look: "Look at the time of a request and at the payload: with two operations in flight one follows from the other.",
    wire: { link: "drive", direction: "downstream" },
    tries: [
      {
        label: "Straight into a slot",
        path: "drive.attach",
        value: "server.slot2",
        moves: [["request", "less"], ["payload", "more"]],
        why: "A read goes through the switch twice, there and back. Without it the request is done sooner, and the next one begins.",
      },
      {
        label: "Store-and-forward",
        path: "sw0.forwarding",
        value: "store-and-forward",
        moves: [["request", "more"], ["payload", "less"]],
        why: "The switch now takes a packet in as a whole before it sends it on, which costs the packet's time on the wire once more.",
      },
      {
        label: "16 operations in flight",
        path: "workload.read.outstanding",
        value: "16",
        moves: [["payload", "more"], ["idle", "less"]],
        why: "The switch costs time, not bandwidth: with enough in flight the link behind it is full.",
      },
    ],
    page: "docs/explanation/switches.md",
  },
  {
    file: "lesson-oversubscription.toml",
    title: "Oversubscription",
    question: "Four drives with four lanes each share a link of eight lanes. What do they get, and which link is the limit?",
    look: "Look at the picture: the link above the switch is full, and those above the drives are not. Compare the time of an operation, too.",
    wire: { link: "sw0", direction: "upstream" },
    tries: [
      {
        label: "Sixteen lanes to the host",
        path: "sw0.ports.port0",
        value: "gen4 x16",
        moves: [["payload", "more"], ["operation", "less"]],
        why: "The link to the host now carries as much as the links of the drives together. Each drive fills its own link.",
      },
      {
        label: "Two drives",
        path: "drive.count",
        value: "2",
        moves: [["payload", "as much"], ["operation", "less"]],
        why: "Two drives fill the shared link already. The others added nothing to the sum; they only made all of them wait.",
      },
      {
        label: "16 operations in flight at each drive",
        path: "workload.write.outstanding",
        value: "16",
        moves: [["payload", "as much"], ["operation", "more"]],
        why: "The shared link is full. What is asked for in addition waits, so it adds time and no payload.",
      },
    ],
    page: "docs/explanation/switches.md",
  },
];
