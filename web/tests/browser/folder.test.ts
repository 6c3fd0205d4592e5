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
  let damaged = "";
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    const file = (request.url ?? "").replace(/^\/some\/where\//, "") || "index.html";
    const content = readFileSync(join(FOLDER, file));
    if (file.endsWith(damaged || "nothing")) content[content.length - 9]! ^= 1;
    response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "text/plain" }).end(content);
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
  // Python is fetched when a machine is there to be read, and not before; a damaged file of it is refused.
  assert.ok(!asked.some((path) => path.includes("pyodide")), `${asked}`);
  await page.getByRole("tab", { name: "Diagnose" }).click();
  damaged = "python_stdlib.zip.packed";
  await page.selectOption("#dump", "laptop.txt");
  await page.locator("#diagnose-failure").waitFor();
  assert.equal(await page.locator("#machine").count(), 0);
  damaged = "";
  await page.selectOption("#dump", "laptop.txt");
  await page.locator("#verdict", { hasText: "Nothing is wrong" }).waitFor({ timeout: 300_000 });
  assert.deepEqual(others, []);
  assert.deepEqual(asked.filter((path) => !/\/(|lanewise\.wasm|pyodide\/[\w.-]+|assets\/index-[\w-]+\.(js|css))$/.test(path)), []);
  await browser.close();
  server.close();
});
