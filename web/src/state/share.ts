/**
 * The whole state in the address: `#lab=1.` and the gzip of a JSON text in base64url.
 *
 * The number before the dot is the version: a newer one is said to be newer, whatever comes after it. gzip carries a checksum, so
 * a damaged link is noticed. Nothing in a link is run but scenarios. Where it would be too long the same JSON text is a file.
 */
import { LONGEST_TEXT } from "../toml/limit.ts";
import { isTable } from "../toml/plain.ts";

/** What a link carries. */
export interface Shared {
  /** The scenario. */
  text: string;
  /** What messages call it. */
  name: string;
  /** The tab that is shown; the first where it is missing, as in links of older labs. */
  tab?: string;
  /** What is chosen in tabs, by their names. A lab that does not know a tab leaves it out. */
  tabs?: Record<string, unknown>;
}

export const VERSION = 1;
/** Longest link, characters after the mark. Mail programs and chats cut longer ones. */
export const LONGEST = 12_000;

const MARK = "#lab=";
/** The key that says of a file that it is a state, and of which version. */
const FILE_MARK = "lanewise_lab";

/** What became of a link. */
export type Opened = { kind: "none" } | { kind: "state"; state: Shared } | { kind: "refused"; reason: string };

/** The part of an address that carries a state; null when it would be longer than it may be, packed or unpacked. */
export async function linkOf(state: Shared): Promise<string | null> {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  if (bytes.length > LONGEST_TEXT) return null;
  const packed = await through(new CompressionStream("gzip"), bytes, Infinity);
  const link = `${MARK}${VERSION}.${base64url(packed)}`;
  return link.length > LONGEST ? null : link;
}

/** Reads that part. */
export async function opened(hash: string): Promise<Opened> {
  if (!hash.startsWith(MARK)) return { kind: "none" };
  const found = /^(\d{1,6})\.(.*)$/s.exec(hash.slice(MARK.length));
  if (!found) return refused("The link is damaged: its version cannot be read.");
  if (Number(found[1]) > VERSION) {
    return refused(`The link is from a newer lab (version ${found[1]}; this one reads ${VERSION}). Open it with that one.`);
  }
  if (hash.length > LONGEST) return refused("The link is longer than a link of this lab can be.");
  try {
    // An archive can be a thousand times its size.
    const bytes = await through(new DecompressionStream("gzip"), ofBase64url(found[2] ?? ""), LONGEST_TEXT);
    const state: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return isShared(state) ? { kind: "state", state: only(state) } : refused("The link is damaged: it holds something else.");
  } catch {
    return refused("The link is damaged: a part of it is missing or changed.");
  }
}

/** The state as the text of a file, which may be of any length. */
export function fileOf(state: Shared): string {
  return `${JSON.stringify({ [FILE_MARK]: VERSION, ...state }, null, 2)}\n`;
}

/** Whether the text of a file is a state rather than a scenario: no TOML begins with a brace. */
export function isStateFile(text: string): boolean {
  return text.trimStart().startsWith("{");
}

/** Reads the text of such a file. */
export function openedFile(text: string): Opened {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return refused("The file is damaged: it is not JSON.");
  }
  const version = typeof read === "object" && read !== null && FILE_MARK in read ? read[FILE_MARK] : undefined;
  if (typeof version !== "number") return refused("The file is not a state of the lab.");
  if (version > VERSION) return refused(`The file is from a newer lab (version ${version}; this one reads ${VERSION}). Open it with that one.`);
  return isShared(read) ? { kind: "state", state: only(read) } : refused("The file is damaged: it holds something else.");
}

function refused(reason: string): Opened {
  return { kind: "refused", reason: `${reason} Nothing was changed.` };
}

function isShared(value: unknown): value is Shared {
  if (!isTable(value)) return false;
  const isText = (one: unknown): boolean => typeof one === "string";
  const { text, name, tab, tabs } = value;
  return isText(text) && isText(name) && (tab === undefined || isText(tab)) && (tabs === undefined || isTable(tabs));
}

/** Without what a newer lab may have added. */
function only({ text, name, tab, tabs }: Shared): Shared {
  return { text, name, ...(tab === undefined ? {} : { tab }), ...(tabs === undefined ? {} : { tabs }) };
}

/** @throws when there is more than `limit` of it, or when it is not what it should be */
async function through(transform: GenericTransformStream, bytes: Uint8Array<ArrayBuffer>, limit: number): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(transform as ReadableWritablePair<Uint8Array, Uint8Array<ArrayBuffer>>);
  const reader = stream.getReader();
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    length += read.value.length;
    if (length > limit) throw new RangeError("too long");
    pieces.push(read.value);
  }
  const all = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

function base64url(bytes: Uint8Array): string {
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function ofBase64url(text: string): Uint8Array<ArrayBuffer> {
  const letters = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
}
