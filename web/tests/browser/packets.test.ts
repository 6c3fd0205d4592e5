/** The packets of a run, in a real browser: the same as the native core lists, and what a packet waited for. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Trace } from "lanewise";
import type { Browser, Page } from "playwright-core";
import { startServer } from "./server.ts";
import { PAGE, assertFit, openLab, startBrowser } from "./start.ts";

const ROOT = join(import.meta.dirname, "../../..");
/** The example that the page begins with. */
const FIRST = join(ROOT, "scenarios/oversubscribed.toml");

let browser: Browser;
const folder = mkdtempSync(join(tmpdir(), "lanewise-packets-"));
before(async () => {
  browser = await startBrowser();
});
after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

function lanewise(...given: string[]): string {
  return execFileSync(join(ROOT, ".venv/bin/lanewise"), ["trace", ...given], { encoding: "utf8", maxBuffer: 1e9 });
}

/** Opens the tab, does something, and sees to it that nothing went wrong in the page and nothing was asked of a network. */
async function inPackets(work: (page: Page) => Promise<void>, script?: string): Promise<void> {
  const { page, faults, requests } = await openLab(browser, PAGE, script);
  await page.locator("#fingerprint").waitFor();
  await page.locator("#tab-packets").click();
  await page.locator("#trace-fingerprint").waitFor();
  await work(page);
  assert.deepEqual(faults, []);
  assert.deepEqual(requests, []);
  await page.context().close();
}

const story = (page: Page): Promise<string> => page.locator("#story").innerText();

/** Asks for another trace, and waits until it is there. */
async function traced(page: Page, button: string): Promise<void> {
  await page.locator(button).click();
  await page.locator("#trace-stop:disabled").waitFor();
}

test("a window has the rows of the native core", () =>
  inPackets(async (page) => {
    await page.locator("#window-start").fill("20 us");
    await page.locator("#window-length").fill("1 us");
    await page.selectOption("#window-link", "nvme[3]");
    await page.locator('[data-kind="blocked"]').uncheck();
    await traced(page, "#trace");
    const kinds = "tlp,dllp,skp,flit,error";
    const native = JSON.parse(lanewise(FIRST, "--from", "20 us", "--for", "1 us", "--link", "nvme[3]", "--kind", kinds, "--json")) as Trace;
    assert.equal(await page.locator("#trace-fingerprint").innerText(), native.fingerprint);
    assert.equal(await page.locator("#packet-count").innerText(), `${native.rows.length} rows`);
    const listed = await page.locator(".packet-space .packet-row").evaluateAll((rows) => rows.slice(0, 8).map((row) => [...row.children].map((cell) => cell.textContent)));
    for (const [at, cells] of listed.entries()) {
      const row = native.rows[at];
      assert.deepEqual([cells[0], cells[2], cells[4], cells[5]], [row?.at_ns.toFixed(3), row?.link, String(row?.sequence ?? "–"), row?.what]);
    }
    assert.equal(await page.locator("#packet-path").inputValue(), "nvme[3]");
  }));

test("the worst latency is found, and the times at its stations add up to it, to the tick", () =>
  inPackets(async (page) => {
    await page.locator("#at-worst-latency").click();
    await page.locator("#latency").waitFor();
    const native = (JSON.parse(lanewise(FIRST, "--transaction", "worst-latency", "--json")) as Trace).transaction;
    assert.ok(native);
    const spans = await page.locator("#stations [data-ticks]").evaluateAll((rows) => rows.map((row) => Number((row as HTMLElement).dataset["ticks"])));
    assert.deepEqual(spans, native.stations.map((station) => station.span_ticks));
    assert.equal(spans.reduce((sum, span) => sum + span), native.latency_ticks);
    assert.equal(await page.locator("#latency").innerText(), native.latency_ns.toFixed(3));
    assert.match(await page.locator("#stations caption").innerText(), new RegExp(`^${native.what} of ${native.requester.replace(/[[\]]/g, "\\$&")} `));
    assert.match(await story(page), new RegExp(`^${native.what} of ${native.requester.replace(/[[\]]/g, "\\$&")}, ${native.length_bytes} B at ${native.address}`));
    assert.match(await story(page), /It waited [\d.]+ ns here[^]*arbitration/);
    // Its other packet, on the link above.
    await page.locator(".packet-links[aria-label='TLPs of the same request'] button").first().click();
    assert.match(await story(page), new RegExp(`On the link of ${native.requester.replace(/[[\]]/g, "\\$&")}, upstream`));
  }));

test("the longest wait comes first when asked, and the parts of a wait add up to it", () =>
  inPackets(async (page) => {
    await page.locator("#order-waited").click();
    const native = (JSON.parse(lanewise(FIRST, "--for", "5 us", "--json")) as Trace).rows;
    const waits = native.filter((row) => row.kind === "tlp").map((row) => row.waits.reduce((sum, wait) => sum + wait.ticks, 0));
    const most = Math.max(...waits);
    assert.match(await page.locator("#packet-count").innerText(), new RegExp(`^${waits.filter((ticks) => ticks > 0).length.toLocaleString("en")} TLPs`));
    assert.match(await story(page), new RegExp(`It waited ${(most / 1_024_000).toFixed(3)} ns here`));
    const parts = await page.locator(".waits .number").allInnerTexts();
    const sum = parts.reduce((total, part) => total + Number(part), 0);
    assert.ok(Math.abs(sum - most / 1_024_000) < 0.001 * parts.length, `${parts}`);
  }));

test("list and diagram have one choice, by pointer and by keys", () =>
  inPackets(async (page) => {
    const canvas = page.locator("#diagram");
    const box = await canvas.boundingBox();
    assert.ok(box);
    for (let y = 380; y > 40 && (await page.locator("#story h2").count()) === 0; y -= 15) {
      await page.mouse.click(box.x + box.width * 0.7, box.y + y);
    }
    const title = await page.locator("#story h2").innerText();
    const selected = page.locator('.packet-row[aria-selected="true"]');
    await selected.waitFor();
    assert.ok(title.startsWith((await selected.locator(".what").innerText()).trim()), title);
    // Arrows move in the list, Enter chooses.
    const before = Number(await selected.getAttribute("data-index"));
    await page.locator("#packets").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    assert.equal(Number(await selected.getAttribute("data-index")), before);
    const active = await page.locator("#packets").getAttribute("aria-activedescendant");
    assert.equal(Number(await page.locator(`#${active}`).getAttribute("data-index")), before + 2);
    await page.keyboard.press("Enter");
    assert.equal(Number(await selected.getAttribute("data-index")), before + 2);
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    assert.equal(await selected.getAttribute("aria-rowindex"), await page.locator("#packets").getAttribute("aria-rowcount"));
    // In the diagram the arrows go from packet to packet.
    const chosen = await story(page);
    await canvas.focus();
    await page.keyboard.press("ArrowLeft");
    await page.waitForFunction((old) => document.getElementById("story")?.innerText !== old, chosen);
  }));

/** Counts look-ups, and the most that one worker has had at once; while the page is slow they are not answered. */
const COUNTING = `window.asked = 0; window.most = 0; window.slow = false;
  const Real = Worker;
  window.Worker = class extends Real {
    open = new Set();
    constructor(...given) { super(...given); this.addEventListener("message", ({ data }) => this.open.delete(data.id)); }
    postMessage(call) {
      if (call.verb === "trace" && call.given?.[1]?.request) {
        window.asked++;
        this.open.add(call.id);
        window.most = Math.max(window.most, this.open.size);
        if (window.slow) return;
      }
      super.postMessage(call);
    }
  };`;

test("held keys look up the last packet only; a look-up can be stopped, and asked for again", () =>
  inPackets(async (page) => {
    const chosen = page.locator('.packet-row[aria-selected="true"]');
    await page.locator("#diagram").focus();
    await page.keyboard.press("ArrowRight");
    await page.locator("#trace-stop:disabled").waitFor();
    const before = (await page.evaluate("asked")) as number;
    for (let press = 0; press < 40; press++) await page.keyboard.press("ArrowRight");
    await page.locator("#trace-stop:disabled").waitFor();
    const [asked, most] = (await page.evaluate("[asked, most]")) as [number, number];
    assert.ok(asked - before < 20, `${asked - before} look-ups of 40 packets`);
    assert.equal(most, 1);
    // One that is not answered: another packet takes its place, in another worker.
    await page.evaluate("slow = true");
    await page.locator("#order-late").click();
    const rows = page.locator(".packet-space .packet-row");
    await rows.nth(3).click();
    await page.waitForFunction(`asked > ${asked}`);
    assert.match(await story(page), /It is looked up…/);
    await page.evaluate("slow = false");
    await rows.nth(5).click();
    await page.locator("#latency").waitFor();
    await page.locator("#trace-stop:disabled").waitFor();
    assert.ok((await page.locator("#stations caption").innerText()).startsWith((await chosen.locator(".what").innerText()).trim().split(" ")[0] ?? "?"));
    assert.equal(await page.evaluate("most"), 1);
    // One that is stopped says so.
    await page.evaluate("slow = true");
    await rows.nth(7).click();
    await page.locator("#trace-stop:enabled").click();
    await page.locator("#look-up").waitFor();
    assert.match(await story(page), /Its look-up was stopped/);
    await page.evaluate("slow = false");
    await page.locator("#look-up").click();
    await page.locator("#latency").waitFor();
    await page.locator("#trace-stop:disabled").waitFor();
  }, COUNTING));

test("a link and a reload have the window; a link that another scenario has not is all of them", () =>
  inPackets(async (page) => {
    await page.locator("#at-first-blocked").click();
    await page.locator("#trace-stop:disabled").waitFor();
    await page.locator("#window-length").fill("2 us");
    await page.selectOption("#window-link", "nvme[3]");
    await page.locator('[data-kind="skp"]').uncheck();
    await page.locator("#share").click();
    await page.waitForFunction(() => location.hash.length > 10);
    const isKept = async (where: Page): Promise<void> => {
      await where.locator("#trace-fingerprint").waitFor();
      assert.equal(await where.locator("#at-first-blocked").getAttribute("aria-pressed"), "true");
      assert.equal(await where.locator("#window-length").inputValue(), "2 us");
      assert.equal(await where.locator("#window-link").inputValue(), "nvme[3]");
      assert.deepEqual([await where.locator('[data-kind="skp"]').isChecked(), await where.locator('[data-kind="tlp"]').isChecked()], [false, true]);
    };
    const other = await openLab(browser, PAGE + new URL(page.url()).hash);
    await isKept(other.page);
    await other.page.reload();
    await isKept(other.page);
    assert.deepEqual(other.faults, []);
    await other.page.context().close();
    await page.selectOption("#example", "first_rig.toml");
    await page.locator(".packets-both.stale").waitFor();
    await page.waitForFunction(() => (document.getElementById("window-link") as HTMLSelectElement | null)?.value === "");
    await traced(page, "#at-start");
    assert.equal(await page.locator(".packets-both.stale").count(), 0);
    assert.match(await page.locator(".packets-panel .clock").innerText(), /What goes over the links from/);
  }));

test("the wheel and a finger move the page where the diagram is at its end", async () => {
  const context = await browser.newContext({ offline: true, viewport: { width: 390, height: 700 }, hasTouch: true });
  const page = await context.newPage();
  await page.goto(PAGE);
  await page.locator("#fingerprint").waitFor();
  await page.locator("#tab-packets").click();
  await page.locator("#trace-fingerprint").waitFor();
  const canvas = page.locator("#diagram");
  await canvas.focus();
  const scrolled = async (key: string, move: (x: number, y: number) => Promise<void>): Promise<number> => {
    await page.keyboard.press(key);
    if (key === "End") for (let press = 0; press < 8; press++) await page.keyboard.press("PageDown");
    await canvas.evaluate((element) => element.scrollIntoView({ block: "center" }));
    const before = await page.evaluate(() => scrollY);
    const box = (await canvas.boundingBox()) ?? assert.fail();
    await move(box.x + box.width / 2, box.y + box.height / 2);
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 300))));
    return (await page.evaluate(() => scrollY)) - before;
  };
  const wheel = async (x: number, y: number): Promise<void> => {
    await page.mouse.move(x, y);
    await page.mouse.wheel(0, 90);
  };
  const client = await context.newCDPSession(page);
  const finger = async (x: number, y: number): Promise<void> => {
    await client.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [{ x, y }] });
    for (let step = 1; step <= 6; step++) await client.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: [{ x, y: y - step * 15 }] });
    await client.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  };
  for (const move of [wheel, finger]) {
    assert.equal(await scrolled("Home", move), 0, `${move.name} within the diagram`);
    assert.ok((await scrolled("End", move)) > 40, `${move.name} at its end`);
  }
  await context.close();
});

test("thousands of packets: only those in sight are drawn and listed", () =>
  inPackets(async (page) => {
    await page.locator("#window-length").fill("20 us");
    await traced(page, "#trace");
    assert.match(await page.locator("#packet-count").innerText(), /the last 10,000 of 1\d,\d{3}/);
    assert.ok((await page.locator(".packet-space .packet-row").count()) < 60);
    const drawn = async (): Promise<number> => {
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      return Number(await page.locator("#diagram").getAttribute("data-drawn"));
    };
    await page.locator("#fit-all").click();
    const all = await drawn();
    assert.ok(all > 2000, `${all}`);
    await page.locator("#diagram").focus();
    for (let press = 0; press < 6; press++) await page.keyboard.press("+");
    const few = await drawn();
    assert.ok(few > 0 && few < all / 20, `${few} of ${all}`);
    await page.mouse.move(...((await page.locator("#diagram").boundingBox().then((box) => [box!.x + 150, box!.y + 200])) as [number, number]));
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, 1500);
    await page.keyboard.up("Control");
    assert.ok((await drawn()) > few * 4);
    // The list follows its scroll bar.
    await page.locator("#packets").evaluate((list) => (list.scrollTop = list.scrollHeight));
    await page.locator(".packet-row[aria-rowindex='10001']").waitFor();
  }));

test("files are those of the native core, byte by byte", () =>
  inPackets(async (page) => {
    await page.locator("#window-length").fill("2 us");
    for (const [button, form, ending] of [["#save-perfetto", "perfetto", "perfetto-trace"], ["#save-jsonl", "jsonl", "trace.jsonl"]] as const) {
      const [download] = await Promise.all([page.waitForEvent("download"), page.locator(button).click()]);
      assert.equal(download.suggestedFilename(), `oversubscribed.${ending}`);
      const native = join(folder, form);
      lanewise(FIRST, "--for", "2 us", "--kind", "tlp,dllp,skp,flit,blocked,error", "--format", form, "--out", native);
      assert.ok(readFileSync(await download.path()).equals(readFileSync(native)), form);
    }
  }));

test("what cannot be traced is said, and what was there stays", () =>
  inPackets(async (page) => {
    const said = page.locator(".packets-panel .clock");
    const before = await page.locator("#packet-count").innerText();
    await page.locator("#window-length").fill("5");
    await traced(page, "#trace");
    assert.match(await said.innerText(), /^Length is "5"; allowed is a time with its unit/);
    assert.equal(await page.locator("#packet-count").innerText(), before);
    await page.locator("#window-length").fill("5 us");
    await traced(page, "#at-stall");
    assert.match(await said.innerText(), /Nothing stands still in the run up to/);
    await traced(page, "#at-replay");
    assert.match(await said.innerText(), /There is no replay in the run up to/);
    await traced(page, "#at-first-blocked");
    assert.match(await story(page), /^blocked: /);
    // A long one can be ended, and another one begun.
    await page.locator("#at-start").click();
    await page.locator("#trace-stop:disabled").waitFor();
    await page.locator("#window-start").fill("900 ms");
    await page.locator("#trace").click();
    await page.locator("#trace-stop:enabled").click();
    await page.locator("#trace:enabled").waitFor();
    await page.locator("#window-start").fill("1 us");
    await traced(page, "#trace");
    assert.match(await said.innerText(), /from 1000\.000 ns to 6000\.000 ns/);
    // The scenario becomes another one.
    await page.selectOption("#example", "first_rig.toml");
    await page.locator(".packets-both.stale").waitFor();
    assert.match(await said.innerText(), /The scenario has changed since/);
    await traced(page, "#trace");
    assert.equal(await page.locator("#packet-path option").count(), 1);
    assert.equal(await page.locator(".packets-both.stale").count(), 0);
  }));

test("the tab is fit for a screen reader, light and dark, wide and narrow", () =>
  inPackets(async (page) => {
    await page.locator("#order-late").click();
    await page.locator("#latency").waitFor();
    await assertFit(page);
  }));

test("a served page traces with the server's core, also where there is no room for another simulator", async () => {
  const native = JSON.parse(lanewise(FIRST, "--for", "5 us", "--json")) as Trace;
  for (const [pages, sockets] of [[8, 2], [1, 1]] as const) {
    const server = await startServer(pages);
    try {
      await served(server.address, pages, sockets, native.fingerprint);
    } finally {
      await server.stop();
    }
  }
});

/** A page of a server with simulators for so many has so many sockets open, and shows and saves what the native core does. */
async function served(address: string, pages: number, sockets: number, fingerprint: string): Promise<void> {
  const page = await (await browser.newContext({ acceptDownloads: true })).newPage();
  const open = new Set<unknown>();
  page.on("websocket", (socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
  });
  await page.goto(address);
  await page.locator("#fingerprint").waitFor();
  await page.locator("#tab-packets").click();
  await page.locator("#trace-fingerprint").waitFor();
  assert.equal(await page.locator("#trace-fingerprint").innerText(), fingerprint);
  await page.locator("#order-late").click();
  await page.locator("#latency").waitFor();
  assert.equal(open.size, sockets);
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#save-perfetto").click()]);
  const file = join(folder, `served-${pages}`);
  lanewise(FIRST, "--for", "5 us", "--kind", "tlp,dllp,skp,flit,blocked,error", "--format", "perfetto", "--out", file);
  assert.ok(readFileSync(await download.path()).equals(readFileSync(file)));
  await page.context().close();
}
