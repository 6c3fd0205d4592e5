/** The documentation site in a real browser: from files and from a plain server, without a network. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { after, before, test } from "node:test";
import { startBrowser } from "../../web/tests/browser/start.ts";

const ROOT = join(import.meta.dirname, "../..");
const SITE = process.env["LANEWISE_SITE_OUT"] ?? join(ROOT, "target/site");
const FILES = `file://${SITE}/`;
const WITHOUT_LAB = existsSync(join(SITE, "lab/lanewise-lab.html")) ? false : "the lab was not built: Rust cannot compile for WebAssembly here";
const AXE = readFileSync(join(ROOT, "web/node_modules/axe-core/axe.min.js"), "utf8");
const TYPES: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".svg": "image/svg+xml" };

/** What axe-core says. */
interface Found {
  violations: { id: string; nodes: { html: string }[] }[];
}

type Browser = Awaited<ReturnType<typeof startBrowser>>;
let browser: Browser;
let server: Server;
let served: string;

before(async () => {
  browser = await startBrowser();
  server = createServer((request, response) => {
    const path = join(SITE, decodeURIComponent(new URL(request.url ?? "/", "http://x").pathname.replace(/^\/some\/where/, "")));
    const file = existsSync(path) && statSync(path).isDirectory() ? join(path, "index.html") : path;
    if (!existsSync(file)) return void response.writeHead(404).end();
    response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "text/plain" }).end(readFileSync(file));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  served = `http://127.0.0.1:${(server.address() as AddressInfo).port}/some/where/`;
});
after(async () => {
  await browser.close();
  server.close();
});

/** A page that keeps what went wrong in it, and what it asked others for. */
async function openPage(top: string, path: string, options: { width?: number; scheme?: "light" | "dark" | null } = {}) {
  const context = await browser.newContext({
    offline: top === FILES,
    viewport: { width: options.width ?? 1280, height: 900 },
    colorScheme: options.scheme === undefined ? "light" : options.scheme,
  });
  const page = await context.newPage();
  const faults: string[] = [];
  const strangers: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("response", (response) => response.status() >= 400 && faults.push(`${response.status()} ${response.url()}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(top) && !/^(blob|data):/.test(request.url())) strangers.push(request.url());
  });
  await page.goto(top + path);
  return { page, faults, strangers, close: () => context.close() };
}

for (const from of ["files", "a server"] as const) {
  test(`search from ${from} finds a word, and the first result leads to it`, async () => {
    const { page, faults, strangers, close } = await openPage(from === "files" ? FILES : served, "index.html");
    await page.getByRole("button", { name: "Search" }).first().click();
    const search = page.getByRole("dialog", { name: "Search" });
    await search.getByRole("combobox").pressSequentially("credits");
    const first = search.getByRole("option").first();
    await first.filter({ hasText: /^credits/ }).waitFor();
    assert.equal(await search.getByRole("combobox").inputValue(), "credits");
    assert.match((await first.getAttribute("href")) ?? "", /reference\/glossary\.html/);
    await first.click();
    await page.waitForURL(/glossary\.html.*#credits/);
    await page.getByRole("heading", { name: /^credits/ }).waitFor();
    assert.deepEqual(strangers, []);
    assert.deepEqual(faults, []);
    await close();
  });

  test(`the lab in the tutorial, from ${from}, simulates the tutorial's rig`, { skip: WITHOUT_LAB }, async () => {
    const { page, faults, strangers, close } = await openPage(from === "files" ? FILES : served, "tutorials/first-rig.html");
    const said = /fingerprint ([0-9a-f]{16})/.exec(await page.locator("article").innerText())?.[1];
    await page.locator(".lab iframe").scrollIntoViewIfNeeded();
    const frame = page.frameLocator(".lab iframe");
    await frame.locator("#fingerprint").waitFor();
    assert.equal(await frame.locator("#fingerprint").innerText(), said);
    assert.match(await frame.locator("body").innerText(), /3\.59 GB\/s/);
    assert.deepEqual(strangers, []);
    assert.deepEqual(faults, []);
    await close();
  });
}

test("a lesson is loaded when it is opened, and not before", { skip: WITHOUT_LAB }, async () => {
  const { page, close } = await openPage(FILES, "tutorials/lessons.html");
  const labs = () => page.frames().filter((frame) => frame.url().includes("lanewise-lab.html#lab=")).length;
  await page.frameLocator(".lab iframe >> nth=0").getByText("Lesson 1 of 6").waitFor();
  assert.equal(labs(), 1);
  const third = page.locator("details.lab").nth(1);
  await third.locator("summary").click();
  await third.scrollIntoViewIfNeeded();
  await third.frameLocator("iframe").getByText("Lesson 3 of 6").waitFor();
  assert.equal(labs(), 2);
  await close();
});

test("the lab has the colours that the reader chose for the site", { skip: WITHOUT_LAB }, async () => {
  // Without a wish of the test's own, which would go before the site's.
  const { page, close } = await openPage(FILES, "tutorials/first-rig.html", { scheme: null });
  const frame = page.frameLocator(".lab iframe");
  await page.locator(".lab iframe").scrollIntoViewIfNeeded();
  await frame.locator("#fingerprint").waitFor();
  const isDark = () => frame.locator("body").evaluate(() => matchMedia("(prefers-color-scheme: dark)").matches);
  assert.equal(await isDark(), false);
  for (const name of [/press for light/, /press for dark/]) await page.getByTitle(name).locator("visible=true").click();
  await page.locator("body[data-md-color-scheme=slate]").waitFor();
  assert.equal(await isDark(), true);
  await close();
});

for (const path of ["index.html", "tutorials/first-rig.html", "reference/python/runs.html", "reference/metrics.html"]) {
  test(`${path} is accessible, light on a screen and dark on a phone`, async () => {
    for (const [width, scheme] of [[1280, "light"], [390, "dark"]] as const) {
      const { page, faults, strangers, close } = await openPage(FILES, path, { width, scheme });
      await page.locator("article h1").waitFor();
      await page.evaluate(AXE);
      const found = (await page.evaluate("axe.run(document, { iframes: false, preload: false })")) as Found;
      assert.deepEqual(found.violations.map((each) => `${each.id}: ${each.nodes[0]?.html}`), [], `${path} at ${width}, ${scheme}`);
      assert.equal(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true, `${path} is wider than ${width}`);
      assert.deepEqual([...faults, ...strangers], []);
      await close();
    }
  });
}
