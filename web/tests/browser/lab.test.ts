/** The page in a real browser, opened from a file, without a network. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { PAGE, type Watched, assertFit, openLab, startBrowser } from "./start.ts";

const ROOT = join(import.meta.dirname, "../../..");

let browser: Browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser.close());

/** Opens the page, does something, and sees to it that nothing went wrong in it and nothing was asked of a network. */
async function inLab(work: (page: Page, watched: Watched) => Promise<void>, address?: string): Promise<void> {
  const watched = await openLab(browser, address);
  await work(watched.page, watched);
  assert.deepEqual(watched.faults, []);
  assert.deepEqual(watched.requests, []);
  await watched.page.context().close();
}

/** What the native core says of a shipped scenario. */
function native(file: string): { fingerprint: string; limited_by: { sentence: string } } {
  const lanewise = join(ROOT, ".venv/bin/lanewise");
  return JSON.parse(execFileSync(lanewise, ["run", join(ROOT, file), "--json"], { encoding: "utf8", maxBuffer: 1e9 }));
}

const fingerprint = (page: Page): Promise<string> => page.locator("#fingerprint").innerText();

/** Replaces the whole text of the editor, as who types does. */
async function type(page: Page, text: string): Promise<void> {
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(text);
}

test("a page from a file simulates as the native core does", () =>
  inLab(async (page) => {
    assert.equal(await fingerprint(page), native("scenarios/oversubscribed.toml").fingerprint);
    assert.equal(await page.locator(".rig .box").count(), 10);
    for (const name of ["nvme_fio", "wrong_slot", "rdma_write"]) {
      const before = await fingerprint(page);
      await page.selectOption("#example", `${name}.toml`);
      await page.waitForFunction((old) => ![null, old].includes(document.getElementById("fingerprint")?.textContent ?? null), before);
      const said = native(`scenarios/${name}.toml`);
      assert.equal(await fingerprint(page), said.fingerprint, name);
      assert.equal(await page.locator("#limited-by").innerText(), `${said.limited_by.sentence}.`);
    }
  }));

test("a mistake is shown at its line, and the picture stays", () =>
  inLab(async (page) => {
    await page.locator("#fingerprint").waitFor();
    const text = readFileSync(join(ROOT, "scenarios/first_rig.toml"), "utf8").replace("outstanding = 16", "outstandign = 16");
    await type(page, text);
    const mistake = page.locator("#mistakes .mistake").first();
    await mistake.waitFor();
    const line = text.split("\n").findIndex((each) => each.startsWith("outstandign")) + 1;
    assert.match(await mistake.innerText(), new RegExp(`^line ${line} `));
    assert.equal(await page.locator(".cm-lintRange-error").first().innerText(), "outstandign");
    assert.ok(await page.locator(".rig-scroll.stale").isVisible());
    await type(page, text.replace("outstandign", "outstanding"));
    await page.locator("#mistakes").waitFor({ state: "detached" });
    await page.waitForFunction(() => document.querySelectorAll(".rig .box").length === 2);
  }));

test("a link carries the scenario; a damaged or newer one changes nothing", () =>
  inLab(async (page) => {
    await page.selectOption("#example", "wrong_slot.toml");
    await page.locator(".box.endpoint", { hasText: "nic" }).waitFor();
    await page.locator("#share").click();
    await page.waitForFunction(() => location.hash.length > 10);
    const hash = new URL(page.url()).hash;
    const other = (await openLab(browser, PAGE + hash)).page;
    await other.locator(".box.endpoint", { hasText: "nic" }).waitFor();
    assert.equal(await other.locator(".cm-content").innerText(), await page.locator(".cm-content").innerText());
    await other.context().close();
    for (const [link, reason] of [[hash.slice(0, -9), /damaged/], [hash.replace("#lab=1.", "#lab=9."), /newer/]] as const) {
      const refused = (await openLab(browser, PAGE + link)).page;
      await refused.locator("#fingerprint").waitFor();
      assert.match(await refused.locator("#notice").innerText(), reason);
      assert.equal(await refused.locator(".rig .box").count(), 10);
      await refused.context().close();
    }
  }));

test("a run plays, pauses, steps, takes over a new value, and ends", () =>
  inLab(async (page) => {
    await page.locator("#fingerprint").waitFor();
    await page.selectOption("#speed", { label: "1 µs a second" });
    await page.locator("#play").click();
    await page.locator(".rig .rate").first().waitFor();
    const clock = page.locator(".clock");
    // Not the words of the run before, which has ended.
    await page.waitForFunction(() => /[1-9].* simulated.*Rates are of/.test(document.querySelector(".clock")?.textContent ?? ""));
    await page.locator("#play").click();
    const stopped = await clock.innerText();
    await page.waitForTimeout(300);
    assert.equal(await clock.innerText(), stopped, "a paused run stands still");
    await page.locator("#step").click();
    await page.waitForFunction((before) => document.querySelector(".clock")?.textContent !== before, stopped);
    assert.match(await clock.innerText(), /One packet at a time/);
    assert.ok((await page.locator(".rate", { hasText: "a TLP leaves" }).count()) > 0);
    // The run goes on with the value, and says so in its results.
    const field = page.locator('[data-path="workload.write.outstanding"]');
    await field.fill("1");
    await field.press("Enter");
    await page.waitForFunction(() => document.querySelector(".cm-content")?.textContent?.includes("outstanding = 1"));
    await page.waitForTimeout(400);
    await page.locator("#end").click();
    await page.locator("#fingerprint").waitFor();
    const changed = await fingerprint(page);
    assert.notEqual(changed, native("scenarios/oversubscribed.toml").fingerprint);
    // Undone in the text, it is undone in the run that follows.
    await page.locator("#undo").click();
    await page.waitForFunction((old) => ![undefined, old].includes(document.getElementById("fingerprint")?.textContent ?? undefined), changed);
    assert.equal(await fingerprint(page), native("scenarios/oversubscribed.toml").fingerprint);
  }));

test("a device that is chosen shows its settings and its link", () =>
  inLab(async (page) => {
    await page.locator("#fingerprint").waitFor();
    await page.locator(".box.endpoint", { hasText: "nvme[3]" }).focus();
    await page.keyboard.press("Enter");
    const detail = page.locator(".link-detail");
    assert.match(await detail.innerText(), /link of nvme\[3\], over the measured time[^]*idle/);
    assert.equal(await page.locator("#owner").inputValue(), "nvme");
    await page.selectOption("#speed", { label: "1 µs a second" });
    await page.locator("#play").click();
    await page.locator(".link-detail table").first().waitFor();
    assert.match(await detail.innerText(), /posted\s+\d+\s+\d+ of \d+/);
  }));

test("a setting becomes a number, a word, or true, as the core reads it", () =>
  inLab(async (page) => {
    await page.locator("#fingerprint").waitFor();
    await page.selectOption("#owner", "nvme");
    const holds = (words: string): Promise<unknown> => page.waitForFunction((wanted) => document.querySelector(".cm-content")?.textContent?.includes(wanted), words);
    const choice = (name: string): Locator => page.locator(".setting-list li", { has: page.locator(`.setting-name:text-is("${name}")`) }).locator("select");
    await page.locator('[data-path="nvme.tags"]').fill("128");
    await page.locator('[data-path="nvme.tags"]').press("Enter");
    await holds("tags = 128");
    await choice("credits.completion_data").selectOption("auto");
    await holds('credits.completion_data = "auto"');
    await choice("relaxed_ordering").selectOption("true");
    await holds("relaxed_ordering = true");
    await page.locator(".setting-list li.written", { hasText: "relaxed_ordering" }).waitFor();
    assert.equal(await page.locator("#notice, #mistakes").count(), 0);
  }));

test("files come out: the scenario, the results, the picture", () =>
  inLab(async (page) => {
    await page.locator("#fingerprint").waitFor();
    await page.locator(".menu summary").click();
    const saved = async (button: string): Promise<string> => {
      const [download] = await Promise.all([page.waitForEvent("download"), page.locator(button).click()]);
      return readFileSync(await download.path(), "utf8");
    };
    assert.equal(await saved("#save-toml"), readFileSync(join(ROOT, "scenarios/oversubscribed.toml"), "utf8"));
    const results = JSON.parse(await saved("#save-json")) as { fingerprint: string };
    assert.equal(results.fingerprint, await fingerprint(page));
    const svg = await saved("#save-svg");
    const shapes = await page.evaluate((text) => {
      const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
      return [parsed.querySelector("parsererror")?.textContent ?? "", parsed.querySelectorAll("rect").length, parsed.documentElement.textContent];
    }, svg);
    assert.equal(shapes[0], "");
    assert.ok(Number(shapes[1]) >= 10 && String(shapes[2]).includes("28.7 GB/s"));
  }));

test("the menu of files closes when it is left, and a file that is no text changes nothing", () =>
  inLab(async (page) => {
    await page.locator("#fingerprint").waitFor();
    const menu = page.locator("details.menu");
    const isOpen = (): Promise<boolean> => menu.evaluate((each) => (each as HTMLDetailsElement).open);
    await menu.locator("summary").click();
    await page.keyboard.press("Escape");
    assert.equal(await isOpen(), false);
    assert.ok(await menu.locator("summary").evaluate((each) => each === document.activeElement));
    await menu.locator("summary").click();
    await page.locator(".answer").click();
    assert.equal(await isOpen(), false);
    await menu.locator("summary").click();
    const before = await page.locator(".cm-content").innerText();
    await menu.locator('input[type="file"]').setInputFiles({ name: "core.dump", mimeType: "", buffer: Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0xff]) });
    await page.locator("#notice").waitFor();
    assert.match(await page.locator("#notice").innerText(), /core\.dump is not text in UTF-8/);
    assert.equal(await page.locator(".cm-content").innerText(), before);
    assert.equal(await isOpen(), false);
    // There is a picture to save where one is on the page.
    await page.locator("#tab-understand").click();
    await menu.locator("summary").click();
    assert.ok(await page.locator("#save-svg").isDisabled());
  }));

test("a host alone has a name for screen readers, and no empty tables", () =>
  inLab(async (page) => {
    await page.locator("#fingerprint").waitFor();
    await page.locator("#new-rig").click();
    await page.waitForFunction(() => document.querySelectorAll(".rig .box").length === 1);
    await page.locator(".answer", { hasText: "Nothing moved" }).waitFor();
    assert.equal(await page.locator(".rig .box").getAttribute("aria-label"), "server, host");
    assert.equal(await page.locator("#flows, #links").count(), 0);
  }));

test("an example that was edited can be chosen again as it was", () =>
  inLab(async (page) => {
    await page.locator("#fingerprint").waitFor();
    await page.locator("#owner").selectOption("nvme");
    await page.locator('[data-path="nvme.tags"]').fill("128");
    await page.locator('[data-path="nvme.tags"]').press("Enter");
    await page.locator("#example option:checked", { hasText: "Eight drives behind one x16 link, edited" }).waitFor({ state: "attached" });
    await page.selectOption("#example", "oversubscribed.toml");
    await page.waitForFunction(() => !document.querySelector(".cm-content")?.textContent?.includes("tags = 128"));
    assert.equal(await page.locator("#example").inputValue(), "oversubscribed.toml");
  }));

test("what one rig gave does not stand over the picture of another, which waits to be played", () =>
  inLab(async (page) => {
    await page.locator("#fingerprint").waitFor();
    await page.selectOption("#example", "enclosure.toml");
    await page.waitForFunction(() => document.querySelectorAll(".rig .box").length === 26);
    await page.locator("#fingerprint").waitFor({ state: "detached" });
    assert.match(await page.locator(".clock").innerText(), /26 devices; those of more than 20 are simulated when you press Play/);
    assert.equal(await page.locator(".answer").innerText(), "");
    assert.equal(await page.locator("#flows").count(), 0);
  }));

test("where the text has mistakes, every tab that waits for it says so and leads to the line", () =>
  inLab(async (page) => {
    await page.locator("#fingerprint").waitFor();
    await type(page, "[host.server]\npart = \"generic-gen4-server\"\noutstandign = 1\n");
    await page.locator("#mistakes").waitFor();
    for (const tab of ["packets", "compare", "explore"]) {
      await page.locator(`#tab-${tab}`).click();
      await page.locator("#waits-for-text button", { hasText: "line 3" }).click();
      assert.match(await page.locator(".cm-activeLine").innerText(), /outstandign/, tab);
      assert.ok(await page.locator(".cm-content").evaluate((each) => each === document.activeElement), tab);
    }
    await type(page, "[host.server]\npart = \"generic-gen4-server\"\n");
    await page.locator("#waits-for-text").waitFor({ state: "detached" });
  }));

test("the wire of a link with CXL.mem is as full as its flits make it", () =>
  inLab(async (page) => {
    await page.locator("#fingerprint").waitFor();
    await page.selectOption("#example", "cxl_memory.toml");
    await page.locator("#limited-by", { hasText: "CXL link" }).waitFor();
    assert.match(await page.locator(".lane.upstream .rate").innerHTML(), /CXL\.mem · 100 %/);
    assert.match(await page.locator("#links tbody tr").innerText(), /100 % CXL\.mem/);
    await page.locator(".box.endpoint").click();
    assert.match(await page.locator(".link-detail").innerText(), /CXL\.mem has the wire 100 % of the time/);
    await page.locator("#tab-packets").click();
    await page.locator(".packets-panel .clock", { hasText: "Flits of CXL.mem are in no trace" }).waitFor();
  }));

test("the editor offers devices before a workload has its kind", () =>
  inLab(async (page) => {
    await page.locator("#fingerprint").waitFor();
    const text = readFileSync(join(ROOT, "scenarios/oversubscribed.toml"), "utf8");
    await type(page, `${text}\n[[workload]]\ndevice = `);
    await page.keyboard.press("Control+Space");
    await page.locator(".cm-tooltip-autocomplete li", { hasText: "nvme[*]" }).waitFor();
  }));

test("completion and hover text say what a key means", () =>
  inLab(async (page) => {
    await page.locator("#fingerprint").waitFor();
    await type(page, "[host.server]\nmemory_la");
    await page.keyboard.press("Control+Space");
    const option = page.locator(".cm-tooltip-autocomplete li", { hasText: "memory_latency" }).first();
    await option.waitFor();
    assert.match(await page.locator(".cm-completionInfo").innerText(), /first byte of data/);
    await page.keyboard.press("Escape");
    await page.selectOption("#example", "first_rig.toml");
    await page.waitForFunction(() => document.querySelectorAll(".rig .box").length === 2);
    await page.locator(".cm-line", { hasText: "outstanding" }).hover({ position: { x: 20, y: 8 } });
    await page.locator(".tip").waitFor();
    assert.match(await page.locator(".tip").innerText(), /In force: 16/);
  }));

test("what the page shows is fit for a screen reader, light and dark, wide and narrow", () =>
  inLab(async (page) => {
    await page.locator("#fingerprint").waitFor();
    await page.locator(".box.switch").click();
    await page.locator(".menu summary").click();
    await assertFit(page);
  }));
