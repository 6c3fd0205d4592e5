/** How the page is built: one script, one style sheet, one worker inside the script, and the module of the simulator beside them. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { type Plugin, defineConfig } from "vite";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** `import text from "./file.txt?packed"`: gzip in base64, for long texts that few people look at. */
const packed: Plugin = {
  name: "packed",
  enforce: "pre",
  load(id) {
    if (!id.endsWith("?packed")) return null;
    const file = id.slice(0, -"?packed".length);
    this.addWatchFile(file);
    return `export default ${JSON.stringify(gzipSync(readFileSync(file), { level: 9 }).toString("base64"))};`;
  },
};

export default defineConfig({
  plugins: [packed],
  root: here("."),
  // Any folder of any server, and a file without one.
  base: "./",
  resolve: { alias: { lanewise: here("../crates/wasm/js/lanewise.js") } },
  server: { fs: { allow: [here("..")] } },
  build: {
    outDir: process.env["LANEWISE_LAB_OUT"] ?? here("../target/lab"),
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1500,
    rollupOptions: { output: { codeSplitting: false } },
  },
  // A page from a file may start no module as a worker, a plain script it may. The loader reads files in Node only.
  worker: { format: "iife", rollupOptions: { external: ["node:fs/promises"] } },
});
