/**
 * The files of Python: inside the page where it is one file with diagnosis, beside it where it is a folder, else nowhere.
 *
 * Each is gzip. In one file they are in base64, as texts of elements that no browser runs.
 */
import { isOneFile, unpacked, unpackedBase64 } from "../simulator/module.ts";

/** What the folder says of each file, which `web/build/python.ts` writes. */
interface Packed {
  name: string;
  file: string;
  bytes: number;
  integrity: string;
}

/** By name, as Pyodide calls them. */
export type PythonFiles = Record<string, ArrayBuffer>;

/** The part of all bytes that are there, 0 to 1. */
export type Heard = (part: number) => void;

/** Whether this page has Python anywhere. */
export function hasPython(): boolean {
  return !isOneFile() || inside().length > 0;
}

/** Reads them all. */
export async function pythonFiles(heard: Heard): Promise<PythonFiles> {
  const elements = inside();
  if (elements.length > 0) return fromElements(elements, heard);
  return fromFolder(heard);
}

function inside(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("script[data-python]")];
}

async function fromElements(elements: HTMLElement[], heard: Heard): Promise<PythonFiles> {
  const files: PythonFiles = {};
  for (const [index, element] of elements.entries()) {
    files[element.dataset["python"] ?? ""] = await unpackedBase64(element.textContent ?? "");
    heard((index + 1) / elements.length);
  }
  return files;
}

async function fromFolder(heard: Heard): Promise<PythonFiles> {
  const folder = new URL("pyodide/", document.baseURI);
  const contents = (await (await answered(new URL("contents.json", folder))).json()) as Packed[];
  const all = contents.reduce((sum, { bytes }) => sum + bytes, 0);
  let read = 0;
  const one = async ({ name, file, integrity }: Packed): Promise<[string, ArrayBuffer]> => {
    const response = await answered(new URL(file, folder), integrity);
    const counted = new TransformStream<Uint8Array, Uint8Array<ArrayBuffer>>({
      transform(piece, onward) {
        read += piece.length;
        heard(read / all);
        onward.enqueue(piece as Uint8Array<ArrayBuffer>);
      },
    });
    if (!response.body) throw new Error(`${file} is empty`);
    return [name, await unpacked(response.body.pipeThrough(counted))];
  };
  return Object.fromEntries(await Promise.all(contents.map(one)));
}

async function answered(url: URL, integrity?: string): Promise<Response> {
  const response = await fetch(url, integrity === undefined ? {} : { integrity });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  return response;
}
