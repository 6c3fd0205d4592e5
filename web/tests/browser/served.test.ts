/** The page from a server, whose native core takes the place of its own simulator. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { type Server, startServer } from "./server.ts";
import { PAGE, startBrowser } from "./start.ts";

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

  const own = await (await browser.newContext({ offline: true })).newPage();
  await own.goto(PAGE);
  await own.locator("#fingerprint").waitFor();
  assert.equal(served, await own.locator("#fingerprint").innerText());
  assert.match(await own.locator(".purpose").innerText(), /nothing leaves this machine/);
});
