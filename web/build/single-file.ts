/**
 * Puts the page into one file: script, style and the module of the simulator, as gzip in base64. It opens from a folder, without a
 * network. Python, which reads machines, lies beside it: `lanewise lab --with-diagnosis` puts that into the file, too.
 *
 * Run after `vite build`, with the module beside the page.
 */
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { licences } from "./licences.ts";
import { packPython } from "./python.ts";

const folder = process.env["LANEWISE_LAB_OUT"] ?? join(import.meta.dirname, "../../target/lab");
const read = (path: string): string => readFileSync(join(folder, path), "utf8");

const page = read("index.html")
  .replace(/<script type="module"[^>]*src="\.\/([^"]+)"[^>]*><\/script>/, "")
  .replace(/<link rel="stylesheet"[^>]*href="\.\/([^"]+)"[^>]*>/, (_, path: string) => `<style>\n${read(path)}</style>`);
const script = /<script type="module"[^>]*src="\.\/([^"]+)"/.exec(read("index.html"))?.[1];
if (!script) throw new Error("index.html names no script");

// What has to go where the page goes.
writeFileSync(join(folder, "THIRD-PARTY-LICENSES-PAGE.txt"), licences());
const notices = ["LICENSE", "THIRD-PARTY-LICENSES.txt", "THIRD-PARTY-LICENSES-PAGE.txt"].map(read).join("\n\n").replaceAll("-->", "-- >");

const wasm = gzipSync(readFileSync(join(folder, "lanewise.wasm")), { level: 9 }).toString("base64");
const inside = [
  `<script type="application/octet-stream" id="lanewise-wasm">${wasm}</script>`,
  // The text of a script ends at the first closing tag, wherever that stands.
  `<script type="module">\n${read(script).replaceAll("</script", "<\\/script")}</script>`,
];
packPython(join(folder, "pyodide"));

const whole = page.replace("</body>", () => `${inside.join("\n")}\n</body>\n<!--\n${notices}\n-->`);
const file = join(folder, "lanewise-lab.html");
writeFileSync(file, whole);
console.log(`${file}: ${(statSync(file).size / 1e6).toFixed(2)} MB`);
