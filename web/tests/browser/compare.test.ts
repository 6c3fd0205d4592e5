/** Compare: a variant is kept, another is edited, and what moved is said with the numbers of the command line. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Compare, Results } from "lanewise";
import type { Browser, Page } from "playwright-core";
import { PAGE, assertFit, openLab, startBrowser } from "./start.ts";

const ROOT = join(import.meta.dirname, "../../..");
const RIG = join(ROOT, "scenarios/oversubscribed.toml");

let browser: Browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser.close());

function native<T>(...given: string[]): T {
  return JSON.parse(execFileSync(join(ROOT, ".venv/bin/lanewise"), [...given, "--json"], { encoding: "utf8", maxBuffer: 1e9 })) as T;
}

/** Opens the tab with the first example as A, and edits one setting of it for B. */
async function compared(page: Page): Promise<void> {
  await page.locator("#fingerprint").waitFor();
  await page.locator("#tab-compare").click();
  await page.locator("#keep-a").click();
  await page.locator("#different", { hasText: "The texts are the same" }).waitFor();
  const field = page.locator('[data-path="workload.write.outstanding"]');
  await field.fill("1");
  await field.press("Enter");
  await page.locator("#moved-table").waitFor();
}

const side = (page: Page, letter: string) => page.getByRole("region", { name: `Variant ${letter}`, exact: true });
const fingerprint = (page: Page, letter: string): Promise<string> => side(page, letter).locator(".fingerprint").innerText();

test("two variants have the numbers of the command line, and can be swapped and taken back", async () => {
  const { page, faults, requests } = await openLab(browser);
  await compared(page);
  const folder = mkdtempSync(join(tmpdir(), "lanewise-compare-"));
  const edited = join(folder, "b.toml");
  writeFileSync(edited, readFileSync(RIG, "utf8").replace("outstanding = 8", "outstanding = 1"));
  const [a, b] = [native<Results>("run", RIG), native<Results>("run", edited)];
  assert.notEqual(a.fingerprint, b.fingerprint);
  assert.equal(await fingerprint(page, "A"), a.fingerprint);
  assert.equal(await fingerprint(page, "B"), b.fingerprint);
  assert.ok((await side(page, "A").innerText()).includes(a.limited_by?.sentence ?? "nothing"));
  assert.ok((await side(page, "B").innerText()).includes(b.limited_by?.sentence ?? "nothing"));
  assert.match(await page.locator("#different").innerText(), /workload\.write\.outstanding\s+8\s+1/);
  assert.equal(await page.locator(".variant svg .box").count(), 20);
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#save-comparison").click()]);
  const ours = JSON.parse(readFileSync(await download.path(), "utf8")) as Compare;
  const theirs = native<Compare>("compare", RIG, edited);
  for (const key of ["links", "flows", "time_attribution_changes", "links_only_in_a", "links_only_in_b"] as const) assert.deepEqual(ours[key], theirs[key], key);
  assert.deepEqual([ours.a.limited_by, ours.b.limited_by], [theirs.a.limited_by, theirs.b.limited_by]);

  await page.locator("#swap").click();
  await page.waitForFunction((wanted) => document.querySelector(".variant .fingerprint")?.textContent === wanted, b.fingerprint);
  assert.equal(await fingerprint(page, "B"), a.fingerprint);
  assert.match(await page.locator(".cm-content").innerText(), /outstanding = 8/);
  await page.locator("#take-back").click();
  await page.locator("#different", { hasText: "The texts are the same" }).waitFor();
  assert.match(await page.locator(".cm-content").innerText(), /outstanding = 1/);
  await page.locator("#undo").click();
  await page.locator("#moved-table").waitFor();
  assert.match(await page.locator(".cm-content").innerText(), /outstanding = 8/);
  await page.locator("#forget-a").click();
  await page.locator("#compare-empty").waitFor();
  assert.deepEqual([faults, requests], [[], []]);
  await page.context().close();
});

test("A comes from an example or a file; mistakes of either are said with the core's words", async () => {
  const { page, faults } = await openLab(browser);
  await page.locator("#fingerprint").waitFor();
  await page.locator("#tab-compare").click();
  await page.selectOption("#choose-a", "first_rig.toml");
  await page.locator("#moved-table").waitFor();
  assert.match(await page.locator("#in-short").innerText(), /Only A has the link nvme0\.[^]*Only B has the links sw0, nvme\[0\]/);
  assert.match(await page.locator("#different").innerText(), /Only B has sw0 \(\d+ settings\)/);
  await page.setInputFiles("#file-a", { name: "wrong.toml", mimeType: "text/plain", buffer: Buffer.from("[host.server]\nnothing = 1\n") });
  await page.locator(".mistake", { hasText: "A cannot be simulated" }).waitFor();
  assert.match(await side(page, "A").innerText(), /nothing/);
  assert.equal(await side(page, "A").locator("svg").count(), 0);
  // A text with mistakes leaves the last B that was sound, dimmed.
  await page.selectOption("#choose-a", "first_rig.toml");
  await page.locator("#moved-table").waitFor();
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+End");
  await page.keyboard.insertText("wrong = 1\n");
  await side(page, "B").locator(".mistake").waitFor();
  assert.equal(await side(page, "B").locator(".old svg").count(), 1);
  assert.deepEqual(faults, []);
  await page.context().close();
});

test("a large rig waits to be asked for; a worker that dies says so, and the next try works", async () => {
  const script = `const Real = Worker; window.made = [];
    window.Worker = class extends Real { constructor(...given) { super(...given); window.made.push(this); } };`;
  const { page } = await openLab(browser, undefined, script);
  await page.locator("#fingerprint").waitFor();
  await page.locator("#by-itself").uncheck();
  await page.locator("#tab-compare").click();
  await page.locator("#keep-a").click();
  const ask = side(page, "A").getByRole("button", { name: "Simulate A" });
  await ask.waitFor();
  // The next call of a worker that is there already ends it.
  await page.evaluate(`made.slice(1).forEach((worker) => { worker.postMessage = () => worker.dispatchEvent(new ErrorEvent("error", { message: "out of memory" })); })`);
  await ask.click();
  await side(page, "A").locator(".mistake", { hasText: "out of memory" }).waitFor();
  await side(page, "A").getByRole("button", { name: "Try again" }).click();
  await side(page, "A").locator(".fingerprint").waitFor();
  assert.equal(await fingerprint(page, "A"), native<Results>("run", RIG).fingerprint);
  await page.context().close();
});

test("a text that waits is left out when it is another one, and can be stopped while it is read", async () => {
  // One simulator, whose runs begin when the test says so; the texts of runs are noted.
  const script = `Object.defineProperty(navigator, "hardwareConcurrency", { get: () => 1 });
    window.isHeld = true;
    window.held = [];
    window.ran = [];
    const Real = Worker;
    window.Worker = class extends Real {
      postMessage(call) {
        if (call.verb === "run") window.ran.push(call.given[0]);
        if (call.verb === "run" && window.isHeld) window.held.push(() => super.postMessage(call));
        else super.postMessage(call);
      }
    };`;
  const { page, faults } = await openLab(browser, undefined, script);
  const outstanding = async (value: string): Promise<void> => {
    const field = page.locator('[data-path="workload.write.outstanding"]');
    await field.fill(value);
    await field.press("Enter");
  };
  const stop = side(page, "B").getByRole("button", { name: "Stop" });
  await page.locator("#fingerprint").waitFor();
  await page.locator("#tab-compare").click();
  await page.locator("#keep-a").click();
  await page.waitForFunction("held.length === 1");
  await outstanding("1");
  await side(page, "B").getByText("B is read").waitFor();
  await stop.waitFor();
  await outstanding("2");
  await page.evaluate("isHeld = false, held.forEach((run) => run())");
  await side(page, "B").locator(".fingerprint").waitFor();
  await page.locator("#moved-table").waitFor();
  const ran = (await page.evaluate("ran")) as string[];
  assert.deepEqual(ran.map((text) => /outstanding = (\d+)/.exec(text)?.[1]), ["8", "2"]);

  await page.evaluate("isHeld = true, held.length = 0");
  await outstanding("3");
  await page.waitForFunction("held.length === 1");
  await outstanding("4");
  await side(page, "B").getByText("B is read").waitFor();
  await stop.click();
  await side(page, "B").locator(".mistake", { hasText: "It was stopped" }).waitFor();
  await page.evaluate("isHeld = false");
  await side(page, "B").getByRole("button", { name: "Try again" }).click();
  await side(page, "B").locator(".mistake").waitFor({ state: "detached" });
  await page.locator("#different", { hasText: /outstanding\s*8\s*4/ }).waitFor();
  assert.deepEqual(faults, []);
  await page.context().close();
});

test("a link and a file carry A and the tab; what is damaged or newer changes nothing", async () => {
  const { page } = await openLab(browser);
  await compared(page);
  await page.locator("#share").click();
  await page.waitForFunction(() => location.hash.length > 10);
  const wanted = [await fingerprint(page, "A"), await fingerprint(page, "B")];
  const other = (await openLab(browser, PAGE + new URL(page.url()).hash)).page;
  await other.locator("#moved-table").waitFor();
  assert.deepEqual([await fingerprint(other, "A"), await fingerprint(other, "B")], wanted);
  await other.context().close();

  await page.locator(".menu summary").click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#save-state").click()]);
  const state = readFileSync(await download.path(), "utf8");
  const third = (await openLab(browser)).page;
  await third.locator("#fingerprint").waitFor();
  await third.locator(".menu summary").click();
  const open = (buffer: string) => third.setInputFiles('.menu input[type="file"]', { name: "page.lab.json", mimeType: "application/json", buffer: Buffer.from(buffer) });
  for (const [content, reason] of [
    [state.slice(0, -9), /damaged/],
    [state.replace('"lanewise_lab": 1', '"lanewise_lab": 9'), /newer/],
    [JSON.stringify({ ...(JSON.parse(state) as object), tabs: { compare: { text: 7 } } }), /damaged/],
  ] as const) {
    await open(content);
    await third.locator("#notice", { hasText: reason }).waitFor();
    assert.equal(await third.locator("#tab-rig").getAttribute("aria-selected"), "true");
  }
  await open(state);
  await third.locator("#moved-table").waitFor();
  assert.deepEqual([await fingerprint(third, "A"), await fingerprint(third, "B")], wanted);
  await third.context().close();

  // Too long for a link: a file is offered.
  const noise = Array.from({ length: 40_000 }, (_, index) => ((index * 7919 + (index >> 3) * 104_729) % 36).toString(36)).join("");
  const long = `# ${Array.from(crypto.getRandomValues(new Uint8Array(20_000)), (byte) => byte.toString(16)).join("")}${noise}\n${readFileSync(RIG, "utf8")}`;
  await page.setInputFiles("#file-a", { name: "long.toml", mimeType: "text/plain", buffer: Buffer.from(long) });
  await page.locator("#share").click();
  const offer = page.locator("#notice button", { hasText: "Save the file" });
  await offer.waitFor();
  const [saved] = await Promise.all([page.waitForEvent("download"), offer.click()]);
  assert.ok(readFileSync(await saved.path(), "utf8").includes(noise));
  await page.context().close();
});

test("compare is fit for a screen reader and a keyboard, light and dark, wide and narrow", async () => {
  const { page } = await openLab(browser);
  await compared(page);
  await page.locator("#tab-rig").click();
  const places = await page.locator('[role="tab"]').evaluateAll((tabs) => tabs.map((tab) => tab.id));
  for (const _ of places.slice(0, places.indexOf("tab-compare"))) await page.keyboard.press("ArrowRight");
  await page.locator("#moved-table").waitFor();
  for (const fold of await page.locator(".compare details").all()) await fold.evaluate((element) => ((element as HTMLDetailsElement).open = true));
  await assertFit(page);
  await page.context().close();
});
