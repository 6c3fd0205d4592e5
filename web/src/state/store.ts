/**
 * What the page knows. The text of the scenario is the one thing that is edited; all else follows from it and from the run.
 *
 * Views read these signals and call the functions of `lab.ts`; they set none.
 */
import { computed, signal } from "@preact/signals";
import type { Explain, Mistake, Part, Remark, Results, State, Step } from "lanewise";
import type { Rig } from "../rig/topology.ts";
import type { Table } from "../toml/plain.ts";
import type { History } from "./history.ts";

/** Where a run is. */
export type RunStage = "none" | "playing" | "paused" | "over";

/** The scenario, as text. */
export const text = signal("");
/** What messages call it. */
export const fileName = signal("rig.toml");
/** What is wrong with it; empty when it can be run. */
export const mistakes = signal<Mistake[]>([]);
export const remarks = signal<Remark[]>([]);
/** The last text that was sound, resolved. */
export const explained = signal<Explain | null>(null);
export const rig = signal<Rig | null>(null);

/** The last text that was sound, as plain data. */
export const written = signal<Table>({});
/** The schema of scenario files, and the catalog: from the simulator, once. */
export const schema = signal<Table | null>(null);
export const parts = signal<Part[]>([]);

export const runStage = signal<RunStage>("none");
/** Of the run at its last look. */
export const live = signal<State | null>(null);
export const lastStep = signal<Step | null>(null);
/** The last look was of one packet: there are no rates at one instant. */
export const isOnePacket = signal(false);
/** Of the run when it was over. */
export const results = signal<Results | null>(null);
/** The text that they are of: of a run that took over values, the last one that it took. */
export const resultsText = signal<string | null>(null);
/** Results, where they are of the text as it is. */
export const resultsOfText = computed(() => (resultsText.value === text.value ? results.value : null));
/** How many runs were over so far. */
export const runsEnded = signal(0);
/** The text has changed since the run began, in a way that a run cannot take over. */
export const isOutdated = signal(false);
export const history = signal<History>({ times: [], flows: {} });

/** Simulated seconds in a second of play. */
export const speed = signal(10e-6);
/** Go on after the results are narrow enough. */
export const keepsGoing = signal(false);
/** A small rig is simulated after every edit. */
export const runsByItself = signal(true);
/** Device or link that is looked at, by name. */
export const selected = signal<string | null>(null);

/** What is shown beside the scenario. */
export const tab = signal("rig");

/** Something to tell: a fault, a link that cannot be read. */
export interface Notice {
  kind: "fault" | "word";
  text: string;
  /** What to press, where something can be done about it. */
  offer?: { label: string; press(): void };
}
export const notice = signal<Notice | null>(null);
/** The simulator has answered once. */
export const isReady = signal(false);

export const isSound = computed(() => mistakes.value.length === 0 && explained.value !== null);
