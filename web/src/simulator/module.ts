/**
 * The module of the simulator: inside the page where it is one file, beside it where it is a folder.
 *
 * In one file it is the gzip of the module, in base64, as the text of an element that no browser runs.
 */

/** The element that holds it, if there is one. */
const INSIDE = "lanewise-wasm";

let compiled: Promise<WebAssembly.Module> | undefined;

/** The module, compiled: once, for as many workers as there are. */
export function simulatorModule(): Promise<WebAssembly.Module> {
  compiled ??= found().catch((error: unknown) => {
    compiled = undefined;
    throw error;
  });
  return compiled;
}

async function found(): Promise<WebAssembly.Module> {
  const inside = document.getElementById(INSIDE)?.textContent;
  if (inside) return WebAssembly.compile(await unpackedBase64(inside));
  const response = await fetch(new URL("lanewise.wasm", document.baseURI));
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${response.statusText}`);
  const streams = response.headers.get("content-type")?.startsWith("application/wasm");
  return streams ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}

/** Whether the page is one file, with the module inside. */
export function isOneFile(): boolean {
  return document.getElementById(INSIDE) !== null;
}

/** What was packed as gzip, and then in base64. */
export function unpackedBase64(base64: string): Promise<ArrayBuffer> {
  const letters = atob(base64.trim());
  const bytes = new Uint8Array(letters.length);
  for (let index = 0; index < letters.length; index++) bytes[index] = letters.charCodeAt(index);
  return unpacked(new Blob([bytes]).stream());
}

/** What was packed as gzip. */
export function unpacked(packed: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<ArrayBuffer> {
  return new Response(packed.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}
