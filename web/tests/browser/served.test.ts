/** The page from a server, whose native core takes the place of its own simulator. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { PAGE, startBrowser } from "./start.ts";

const ROOT = join(import.meta.dirname, "../../..");

/** Serves the page under test from a free port, and says which. */
const SERVE = `
import socket, sys
from pathlib import Path
import uvicorn
from lanewise.serve.app import application
from lanewise.serve.settings import Settings
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
app = application(Settings(folder=Path(sys.argv[1]), page=Path(sys.argv[2])))
try:
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
except KeyboardInterrupt:
    pass
`;

let browser: Browser;
let server: ChildProcess;
let address: string;
const runs = mkdtempSync(join(tmpdir(), "lanewise-served-"));

before(async () => {
  const page = dirname(fileURLToPath(PAGE));
  server = spawn(join(ROOT, ".venv/bin/python"), ["-c", SERVE, runs, page], { stdio: ["ignore", "pipe", "inherit"] });
  const port = await new Promise((resolve) => createInterface(server.stdout!).once("line", resolve));
  address = `http://127.0.0.1:${port}/`;
  browser = await startBrowser();
});
after(async () => {
  await browser.close();
  server.kill("SIGINT");
  await new Promise((resolve) => server.once("exit", resolve));
  rmSync(runs, { recursive: true });
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

  const own = await (await browser.newContext({ offline: true })).newPage();
  await own.goto(PAGE);
  await own.locator("#fingerprint").waitFor();
  assert.equal(served, await own.locator("#fingerprint").innerText());
  assert.match(await own.locator(".purpose").innerText(), /nothing leaves this machine/);
});
