/** The page as a folder on a server: it fetches its own files and nothing else. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { test } from "node:test";
import { FOLDER, startBrowser } from "./start.ts";

const TYPES: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };

test("the folder works on a server, below any path", async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    const file = (request.url ?? "").replace(/^\/some\/where\//, "") || "index.html";
    response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "text/plain" }).end(readFileSync(join(FOLDER, file)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const browser = await startBrowser();
  const page = await browser.newPage();
  const others: string[] = [];
  page.on("request", (request) => {
    if (!/^(blob|data):/.test(request.url()) && !request.url().startsWith(`http://127.0.0.1:${port}/some/where/`)) others.push(request.url());
  });
  await page.goto(`http://127.0.0.1:${port}/some/where/`);
  await page.locator("#fingerprint").waitFor();
  assert.deepEqual(others, []);
  assert.deepEqual(asked.filter((path) => !/\/(|lanewise\.wasm|assets\/index-[\w-]+\.(js|css))$/.test(path)), []);
  await browser.close();
  server.close();
});
