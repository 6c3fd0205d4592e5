/** The page from a server, whose native core takes the place of its own simulator. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { type Server, startServer } from "./server.ts";
import { PAGE, startBrowser } from "./start.ts";

const ROOT = join(import.meta.dirname, "../../..");

let browser: Browser;
let server: Server;
let address: string;

before(async () => {
  server = await startServer();
  address = server.address;
  browser = await startBrowser();
});
after(async () => {
  await browser.close();
  await server.stop();
});

test("a served page simulates with the server's core, and loads no module of its own", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const faults: string[] = [];
  const asked: string[] = [];
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("request", (request) => asked.push(request.url()));
  const sockets: string[] = [];
  page.on("websocket", (socket) => sockets.push(socket.url()));
  await page.goto(address);
  await page.locator("#fingerprint").waitFor();
  const served = await page.locator("#fingerprint").innerText();
  assert.deepEqual(sockets, [`${address.replace("http", "ws")}api/simulator`]);
  assert.ok(!asked.some((each) => each.endsWith(".wasm")), `${asked}`);
  assert.ok(asked.every((each) => each.startsWith(address)), `${asked}`);
  assert.deepEqual(faults, []);
  assert.match(await page.locator(".purpose").innerText(), /by the server/);
  // What one builds is judged by the server's core.
  await page.locator(".free").first().click();
  await page.locator("#verdict", { hasText: "comes up as" }).waitFor();
  await page.locator("#add-part").click();
  await page.locator("#built.done").waitFor();
  await page.waitForFunction(() => document.querySelectorAll(".rig .box").length === 11);
  assert.deepEqual(faults, []);

  const own = await (await browser.newContext({ offline: true })).newPage();
  await own.goto(PAGE);
  await own.locator("#fingerprint").waitFor();
  assert.equal(served, await own.locator("#fingerprint").innerText());
  assert.match(await own.locator(".purpose").innerText(), /nothing leaves this machine/);
});

test("a served page has the server read machines, and loads no Python", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await page.goto(address);
  await page.locator("#fingerprint").waitFor();
  await page.getByRole("tab", { name: "Diagnose" }).click();
  const log = Buffer.from("[    1.000000] NVRM: Xid (PCI:0000:9b:00): 79, pid=1234, GPU has fallen off the bus.\n");
  const files = [
    { name: "dmesg.txt", mimeType: "text/plain", buffer: log },
    { name: "gpu-server.txt", mimeType: "text/plain", buffer: readFileSync(join(ROOT, "examples/gpu-server.txt")) },
  ];
  await page.locator("#dumps").setInputFiles(files);
  await page.locator("#verdict", { hasText: /^1 error/ }).waitFor({ timeout: 60_000 });
  await page.locator(".predictions").first().waitFor({ timeout: 60_000 });
  await page.locator(".doing").waitFor({ state: "detached" });
  assert.ok(await page.locator("#tree svg").isVisible());
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#save-findings").click()]);
  const { doctor } = JSON.parse(readFileSync(await download.path(), "utf8")) as { doctor: unknown };
  const folder = mkdtempSync(join(tmpdir(), "lanewise-dumps-"));
  for (const { name, buffer } of files) writeFileSync(join(folder, name), buffer);
  const command = ["doctor", "gpu-server.txt", "--with", "dmesg.txt", "--json"];
  const native = spawnSync(join(ROOT, ".venv/bin/lanewise"), command, { cwd: folder, encoding: "utf8", maxBuffer: 1e9 });
  rmSync(folder, { recursive: true });
  assert.deepEqual(doctor, JSON.parse(native.stdout));
  // What cannot be read takes the place of nothing.
  await page.locator("#dumps").setInputFiles({ name: "letter.txt", mimeType: "text/plain", buffer: Buffer.from("Dear all,\n") });
  await page.locator("#diagnose-failure").waitFor();
  assert.match(await page.locator("#diagnose-failure").innerText(), /letter\.txt/);
  await page.locator("#as-scenario").click();
  await page.locator("#tab-rig[aria-selected=true]").waitFor();
  assert.match(await page.locator(".cm-content").innerText(), /Written by `lanewise scan --scenario` from gpu-server\.txt/);
  assert.deepEqual(asked.filter((path) => path.includes("pyodide") || path.endsWith(".wasm")), []);
  await context.close();
});
