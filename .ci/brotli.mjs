// Writes FILE.br beside FILE, as small as Brotli makes it: what a web server sends instead where a browser takes `br`.
// Usage: node brotli.mjs FILE
import { readFileSync, writeFileSync } from "node:fs";
import { brotliCompressSync, constants } from "node:zlib";

const [file] = process.argv.slice(2);
const content = readFileSync(file);
const params = {
  [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
  [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
  [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
};
writeFileSync(`${file}.br`, brotliCompressSync(content, { params }));
