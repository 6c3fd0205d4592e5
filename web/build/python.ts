/**
 * Python for the page: Pyodide's files from npm, and the part of the Lanewise package that reads machines, each as gzip, in a folder
 * beside the page, with what they should be in `contents.json`.
 *
 * Nothing is downloaded, here or by the page: what Pyodide would fetch is in the folder.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { pythonLicences } from "./licences.ts";

const ROOT = join(import.meta.dirname, "../..");
const PYODIDE = join(ROOT, "web/node_modules/pyodide");
const AS_THEY_ARE = ["pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip"];

/** A file of the folder: what it is called once it is unpacked, its packed bytes, and their checksum as `integrity` of a request has it. */
interface Packed {
  name: string;
  file: string;
  bytes: number;
  integrity: string;
}

/** Fills the folder. */
export function packPython(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const contents = [...files()].map(([name, content]): Packed => {
    const packed = gzipSync(content, { level: 9 });
    // Not `.gz`: some servers name that as an encoding, and browsers unpack it then.
    const file = `${name}.packed`;
    writeFileSync(join(folder, file), packed);
    return { name, file, bytes: packed.length, integrity: `sha256-${createHash("sha256").update(packed).digest("base64")}` };
  });
  writeFileSync(join(folder, "LICENSES.txt"), pythonLicences());
  writeFileSync(join(folder, "contents.json"), `${JSON.stringify(contents, null, 1)}\n`);
}

function* files(): Generator<[string, Buffer]> {
  for (const name of AS_THEY_ARE) yield [name, readFileSync(join(PYODIDE, name))];
  // Without the list of packages that Pyodide could load from elsewhere.
  const { info } = JSON.parse(readFileSync(join(PYODIDE, "pyodide-lock.json"), "utf8")) as { info: object };
  yield ["pyodide-lock.json", Buffer.from(JSON.stringify({ info, packages: {} }))];
  const zip = join(ROOT, "target/lanewise-python.zip");
  execFileSync(join(ROOT, ".venv/bin/python"), [join(ROOT, ".ci/python_for_page.py"), zip]);
  yield ["lanewise.zip", readFileSync(zip)];
}
