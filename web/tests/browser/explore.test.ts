/** Explore: points of one or two parameters, computed by several workers, with the numbers of `lanewise run --set`. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Results } from "lanewise";
import type { Browser, Page, WebSocket } from "playwright-core";
import { startServer } from "./server.ts";
import { PAGE, assertFit, openLab, startBrowser } from "./start.ts";

const ROOT = join(import.meta.dirname, "../../..");
const RIG = join(ROOT, "scenarios/first_rig.toml");
const CREDITS = "server.slots.slot1.credits.posted_data";

let browser: Browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser.close());

function native(...sets: string[]): Results {
  const given = sets.flatMap((set) => ["--set", set]);
  return JSON.parse(execFileSync(join(ROOT, ".venv/bin/lanewise"), ["run", RIG, "--json", ...given], { encoding: "utf8", maxBuffer: 1e9 })) as Results;
}

async function fill(page: Page, place: string, value: string): Promise<void> {
  await page.locator(place).fill(value);
  await page.locator(place).press("Enter");
}

/** Opens the tab on the smallest rig, with a parameter and its values. */
async function exploring(page: Page, path: string, values: string): Promise<void> {
  await page.locator("#fingerprint").waitFor();
  await page.selectOption("#example", "first_rig.toml");
  await page.waitForFunction(() => document.querySelectorAll(".rig .box").length === 2);
  await page.locator("#tab-explore").click();
  await page.locator("#axis-0").waitFor();
  await fill(page, "#axis-0", path);
  await fill(page, '[data-axis="0-values"]', values);
}

async function computed(page: Page): Promise<void> {
  await page.locator("#explore-start").click();
  await page.locator("#explore-progress", { hasText: "computed in" }).waitFor();
}

/** The table of points, by the values of the parameters. */
async function table(page: Page): Promise<Map<string, string[]>> {
  const rows = await page.evaluate(() => [...document.querySelectorAll("#explore-table tbody tr")].map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent ?? "")));
  return new Map(rows.map((cells) => [cells.slice(0, -3).join(", "), cells.slice(-3)]));
}

/** Moves a slider as the keyboard does. */
async function slide(page: Page, index: number, place: number): Promise<void> {
  await page.locator(`#slider-${index}`).focus();
  await page.keyboard.press("Home");
  for (let step = 0; step < place; step++) await page.keyboard.press("ArrowRight");
}

test("one parameter: the points of the native core, the knee, what cannot be built, and a point into the text", async () => {
  const { page, faults, requests } = await openLab(browser);
  await exploring(page, CREDITS, "8, 16, 32, 64, 128");
  assert.match(await page.locator(".axis").first().innerText(), /In force: 400/);
  await computed(page);
  const points = await table(page);
  assert.deepEqual([...points.keys()], ["8", "16", "32", "64", "128"]);
  for (const value of ["16", "32", "64", "128"]) {
    const said = native(`${CREDITS}=${value}`);
    assert.deepEqual(points.get(value)?.slice(1), [said.limited_by?.name, said.fingerprint], value);
    assert.equal(points.get(value)?.[0], `${(said.flows[0]?.goodput_gb_per_s ?? 0).toFixed(2)} GB/s`, value);
  }
  assert.match(await page.locator("#explore-knees").innerText(), /Between \d+ and \d+ the limit changes from A \(server\.slot1\.posted_credits\) to B \(nvme0\.upstream\)/);
  // What cannot be built is there, with the words of the core.
  assert.match(await page.locator("#explore-failures").innerText(), /At 8: .*asks for at least 16/);
  assert.equal(await page.locator("#explore-line .cross").count(), 1);
  await slide(page, 0, 0);
  assert.match(await page.locator("#explore-point").innerText(), /cannot be simulated/);
  await slide(page, 0, 2);
  assert.equal(await page.locator("#explore-fingerprint").innerText(), native(`${CREDITS}=32`).fingerprint);

  await page.locator("#explore-take").click();
  await page.waitForFunction(() => document.querySelector(".cm-content")?.textContent?.includes("credits.posted_data = 32"));
  // The page's own run of that text is the same, and the points are of this text, too.
  await page.locator("#tab-rig").click();
  await page.waitForFunction((wanted) => document.getElementById("fingerprint")?.textContent === wanted, native(`${CREDITS}=32`).fingerprint);
  await page.locator("#tab-explore").click();
  assert.equal(await page.locator("#explore-outdated").count(), 0);
  await page.locator("#undo").click();
  await page.waitForFunction(() => !document.querySelector(".cm-content")?.textContent?.includes("posted_data"));
  await page.locator(".axis", { hasText: "In force: 400" }).waitFor();
  // Another setting makes them outdated, until they are computed anew.
  await page.locator('[data-path="workload.write.size"]').fill("64 KiB");
  await page.locator('[data-path="workload.write.size"]').press("Enter");
  await page.locator("#explore-outdated").waitFor();
  await computed(page);
  assert.equal((await table(page)).get("64")?.[2], native(`${CREDITS}=64`, "workload.write.size=64 KiB").fingerprint);
  assert.equal(await page.locator("#explore-outdated").count(), 0);
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#explore-csv").click()]);
  const lines = readFileSync(await download.path(), "utf8").trim().split("\r\n");
  assert.equal(lines.length, 6);
  assert.ok(lines[4]?.includes((await table(page)).get("64")?.[2] ?? "?"));
  assert.deepEqual([faults, requests], [[], []]);
  await page.context().close();
});

test("ranges: steps and factors, choices, and what is no parameter", async () => {
  const { page } = await openLab(browser);
  await exploring(page, "workload.write.size", "64 B, 4 KiB");
  await fill(page, '[data-axis="0-steps"]', "7");
  const values = page.locator('[data-axis="0-values"]');
  assert.equal((await values.inputValue()).split(", ").length, 7);
  await page.getByLabel("First parameter: spacing").selectOption("factor");
  assert.equal(await values.inputValue(), "64 B, 128 B, 256 B, 512 B, 1 KiB, 2 KiB, 4 KiB");
  await fill(page, '[data-axis="0-to"]', "1 KiB");
  assert.match(await values.inputValue(), /^64 B, .*, 1 KiB$/);
  await fill(page, "#axis-0", "server.mps_supported");
  assert.equal(await values.inputValue(), "128 B, 256 B, 512 B, 1024 B, 2048 B, 4096 B");
  await fill(page, "#axis-0", "nobody.tags");
  await page.locator(".axis .mistake", { hasText: "Nothing in the scenario is called nobody.tags" }).waitFor();
  await fill(page, "#axis-0", "workload.write.outstanding");
  await fill(page, '[data-axis="0-values"]', Array.from({ length: 401 }, (_, index) => index + 1).join());
  await page.locator("#explore-progress", { hasText: "401 points are more than the 400" }).waitFor();
  assert.ok(await page.locator("#explore-start").isDisabled());
  // Of another scenario, which does not have it, no point can be computed.
  await fill(page, '[data-axis="0-values"]', "1, 2");
  assert.ok(await page.locator("#explore-start").isEnabled());
  await page.selectOption("#example", "nvme_fio.toml");
  await page.locator(".axis .warn", { hasText: "no such parameter any more" }).waitFor();
  assert.ok(await page.locator("#explore-start").isDisabled());
  await page.context().close();
});

test("a worker that dies on a point takes that point only; what is under way can be stopped, and goes on later", async () => {
  // The worker that gets the third value is no more.
  const script = `const Real = Worker; window.made = 0;
    window.Worker = class extends Real {
      constructor(...given) { super(...given); window.made++; }
      postMessage(message) {
        const isRun = message.verb === "run";
        if (isRun && window.slow) return;
        if (isRun && JSON.stringify(message.given[1].overrides ?? "").includes('"3"') && !window.healed) {
          this.terminate();
          this.dispatchEvent(new ErrorEvent("error", { message: "out of memory" }));
        } else super.postMessage(message);
      }
    };`;
  const { page } = await openLab(browser, undefined, script);
  await exploring(page, "workload.write.outstanding", "1, 2, 3, 4, 5");
  await computed(page);
  const points = await table(page);
  assert.equal(points.get("3")?.[0], "cannot be simulated");
  assert.match(await page.locator("#explore-failures").innerText(), /At 3: out of memory/);
  for (const value of ["1", "2", "4", "5"]) assert.equal(points.get(value)?.[2], native(`workload.write.outstanding=${value}`).fingerprint, value);
  // A fault is tried again, what was done is not.
  await page.evaluate("window.healed = true");
  await computed(page);
  assert.match(await page.locator("#explore-progress").innerText(), /1 of 1 points computed/);
  assert.equal((await table(page)).get("3")?.[2], native("workload.write.outstanding=3").fingerprint);
  // Workers that never answer: stopped, nothing is left under way, and the page works.
  await page.evaluate("window.slow = true");
  await fill(page, '[data-axis="0-values"]', "1, 2, 6, 7");
  await page.locator("#explore-start").click();
  await page.locator("#explore-table", { hasText: "–" }).waitFor({ state: "attached" });
  await page.locator("#explore-stop").click();
  await page.locator("#explore-start").waitFor();
  await page.evaluate("window.slow = false");
  await slide(page, 0, 3);
  await page.locator("#explore-one").click();
  await page.locator("#explore-fingerprint").waitFor();
  assert.equal(await page.locator("#explore-fingerprint").innerText(), native("workload.write.outstanding=7").fingerprint);
  await page.locator("#explore-end").click();
  await page.locator("#explore-end").waitFor({ state: "detached" });
  await page.context().close();
});

test("two parameters: a map of the native core's points, read with pointer and keyboard, by number and by what limits", async () => {
  const { page, faults } = await openLab(browser);
  await exploring(page, "workload.write.size", "64 B, 256 B, 4 KiB");
  await fill(page, "#axis-1", "nvme0.link.force_width");
  assert.match(await page.locator('[data-axis="1-values"]').inputValue(), /x1, x2, x4/);
  await fill(page, '[data-axis="1-values"]', "x1, x4, x9");
  await fill(page, "#axis-1", "workload.write.size");
  await page.locator(".axis .mistake", { hasText: "the other parameter already" }).waitFor();
  await page.locator("#explore-start", { hasText: "Compute 9 points" }).waitFor();
  await computed(page);
  const points = await table(page);
  for (const [size, width] of [["64 B", "x1"], ["4 KiB", "x4"], ["256 B", "x4"]] as const) {
    const said = native(`workload.write.size=${size}`, `nvme0.link.force_width=${width}`);
    assert.deepEqual(points.get(`${size}, ${width}`)?.slice(1), [said.limited_by?.name, said.fingerprint], `${size} ${width}`);
  }
  assert.equal(points.get("64 B, x9")?.[0], "cannot be simulated");
  assert.equal(await page.locator(".heat td.failed").count(), 3);
  // Rows go upwards: the last value of the second parameter is at the top.
  assert.deepEqual(await page.locator(".heat th[scope=row]").allInnerTexts(), ["x9", "x4", "x1"]);
  await page.locator('.heat [data-at="2,1"]').hover();
  assert.match(await page.locator("#map-under").innerText(), /workload\.write\.size = 4 KiB, nvme0\.link\.force_width = x4: 7\.\d+ GB\/s\. Limited by the wire/);
  // The least and the most have the ends of the scale.
  const colours = await page.evaluate(() => ["0,0", "2,1"].map((at) => getComputedStyle(document.querySelector(`[data-at="${at}"]`) as Element).backgroundColor));
  assert.deepEqual(colours, ["rgb(16, 32, 84)", "rgb(253, 234, 110)"]);
  await page.locator('.heat [data-at="0,0"]').click();
  assert.equal(await page.locator("#slider-1").getAttribute("aria-valuetext"), "x1");
  for (const key of ["ArrowRight", "ArrowUp"]) await page.keyboard.press(key);
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("data-at")), "1,1");
  assert.equal(await page.locator("#explore-fingerprint").innerText(), points.get("256 B, x4")?.[2]);
  await page.selectOption("#map-shows", "limiter");
  assert.match(await page.locator('.heat [data-at="1,1"]').getAttribute("class") ?? "", /pattern-1/);
  await page.selectOption("#explore-metric", { label: "Use: the link of nvme0, upstream" });
  assert.match(await page.locator("#explore-point .total").innerText(), /%/);
  await page.locator("#explore-take").click();
  await page.waitForFunction(() => /force_width = "x4"/.test(document.querySelector(".cm-content")?.textContent ?? ""));
  assert.match(await page.locator(".cm-content").innerText(), /size = "256 B"/);
  await page.locator("#undo").click();
  await page.waitForFunction(() => !/force_width/.test(document.querySelector(".cm-content")?.textContent ?? ""));
  assert.match(await page.locator(".cm-content").innerText(), /size = "4 KiB"/, "one undo takes both back");
  assert.equal(await page.locator("#explore-outdated").count(), 0);
  await page.selectOption("#map-shows", "value");
  await assertFit(page);
  await page.getByRole("button", { name: "Without it" }).click();
  await page.locator("#explore-start", { hasText: "Compute 3 points" }).waitFor();
  assert.deepEqual(faults, []);
  await page.context().close();
});

/** A machine with five cores, whose page counts its workers. */
const FIVE_CORES = `Object.defineProperty(navigator, "hardwareConcurrency", { get: () => 5 }); window.made = 0;
  { const Real = Worker; window.Worker = class extends Real { constructor(...given) { super(...given); window.made++; } }; }`;

test("several workers share the points, and give what one gives", async () => {
  const { page } = await openLab(browser, undefined, FIVE_CORES);
  await exploring(page, "workload.write.outstanding", "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12");
  const before = (await page.evaluate("made")) as number;
  await computed(page);
  assert.equal(((await page.evaluate("made")) as number) - before, 4, "a core is left for the page");
  const points = await table(page);
  for (const value of ["1", "6", "12"]) assert.equal(points.get(value)?.[2], native(`workload.write.outstanding=${value}`).fingerprint, value);
  assert.match(await page.locator("#explore-end").innerText(), /End 4 idle simulators/);
  await page.context().close();
});

test("a served page has as many connections as the server lets it have, and gives them back", async () => {
  // One is the page's own: two are left of the four that it would take.
  const server = await startServer(3);
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.addInitScript(FIVE_CORES);
  const open = new Set<WebSocket>();
  page.on("websocket", (socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
  });
  await page.goto(server.address);
  await exploring(page, "workload.write.outstanding", "1, 2, 3, 4, 5, 6, 0");
  await computed(page);
  const points = await table(page);
  for (const value of ["1", "6"]) assert.equal(points.get(value)?.[2], native(`workload.write.outstanding=${value}`).fingerprint, value);
  assert.match(await page.locator("#explore-failures").innerText(), /At 0: .*has to lie between 1/);
  assert.equal(open.size, 3);
  // Its own is the first, and stays.
  const closed = [...open].slice(1).map((socket) => socket.waitForEvent("close"));
  await page.locator("#explore-end").click();
  await Promise.all(closed);
  assert.equal(open.size, 1);
  assert.equal(await page.evaluate("made"), 0, "no worker of its own");
  await context.close();
  await server.stop();
});

test("a point that is simulated when another parameter is chosen is given up", async () => {
  const script = `Object.defineProperty(navigator, "hardwareConcurrency", { get: () => 1 });
    window.isHeld = true;
    const Real = Worker;
    window.Worker = class extends Real {
      postMessage(call) {
        if (call.verb !== "run" || !window.isHeld) super.postMessage(call);
      }
    };`;
  const { page, faults } = await openLab(browser, PAGE, script);
  await exploring(page, "workload.write.outstanding", "1, 2, 4");
  await page.locator("#explore-one").click();
  await page.locator("#explore-point", { hasText: "It is simulated" }).waitFor();
  await page.evaluate("window.isHeld = false");
  // There is one simulator: if it went on with the point of before, this one would wait for ever.
  await fill(page, "#axis-0", CREDITS);
  await page.locator("#explore-one").click();
  await page.locator("#explore-fingerprint").waitFor();
  assert.deepEqual(faults, []);
  await page.context().close();
});

test("a link carries the settings of an exploration, and not its points", async () => {
  const { page } = await openLab(browser);
  await exploring(page, "workload.write.outstanding", "1, 2, 4");
  await slide(page, 0, 1);
  await page.locator("#share").click();
  await page.waitForFunction(() => location.hash.length > 10);
  const { page: other, faults } = await openLab(browser, PAGE + new URL(page.url()).hash);
  await other.locator("#explore-start", { hasText: "Compute 3 points" }).waitFor();
  assert.equal(await other.locator("#axis-0").inputValue(), "workload.write.outstanding");
  assert.equal(await other.locator("#slider-0").getAttribute("aria-valuetext"), "2");
  assert.equal(await other.locator("#explore-table").count(), 0);
  await computed(other);
  assert.equal(await other.locator("#explore-fingerprint").innerText(), native("workload.write.outstanding=2").fingerprint);
  assert.deepEqual(faults, []);
  await other.context().close();
  await page.context().close();
});

test("explore is fit for a screen reader, light and dark, wide and narrow", async () => {
  const { page } = await openLab(browser);
  await exploring(page, CREDITS, "8, 16, 64, 128");
  await computed(page);
  await page.locator(".explore details summary").click();
  await assertFit(page);
  await page.context().close();
});
