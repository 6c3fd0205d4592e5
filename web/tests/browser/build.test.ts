/** Building a rig: with the pointer, with the keyboard alone, and what the core says of what does not fit. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { PAGE, assertFit, openLab, startBrowser } from "./start.ts";

const ROOT = join(import.meta.dirname, "../../..");

let browser: Browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser.close());

async function inLab(work: (page: Page) => Promise<void>): Promise<void> {
  const { page, faults, requests } = await openLab(browser);
  // All of it is in view: what is dragged goes where one sees it.
  await page.setViewportSize({ width: 1280, height: 1500 });
  await page.locator("#fingerprint").waitFor();
  await work(page);
  assert.deepEqual(faults, []);
  assert.deepEqual(requests, []);
  await page.context().close();
}

const boxes = (page: Page, count: number): Promise<unknown> => page.waitForFunction((wanted) => document.querySelectorAll(".rig .box").length === wanted, count);
const text = async (page: Page): Promise<string> => (await page.locator(".cm-line").allInnerTexts()).map((line) => line.replace(/^\n$/, "")).join("\n");
const box = (page: Page, name: string): Locator => page.locator(`[data-device="${name}"]`);

/** From the middle of one thing to the middle of another, as a hand does; what is to be looked at before it lets go is. */
async function drag(page: Page, from: Locator, to: Locator, look?: () => Promise<void>): Promise<void> {
  await from.waitFor();
  const start = await from.boundingBox();
  assert.ok(start);
  await page.mouse.move(start.x + 20, start.y + start.height / 2);
  await page.mouse.down();
  await page.mouse.move(start.x + 40, start.y + start.height / 2 + 10, { steps: 3 });
  const end = await to.boundingBox();
  assert.ok(end);
  await page.mouse.move(end.x + end.width / 2, end.y + end.height / 2, { steps: 5 });
  await look?.();
  await page.mouse.up();
}

test("from a host alone to a rig that runs, by the keyboard alone", () =>
  inLab(async (page) => {
    const before = await text(page);
    await page.locator("#new-rig").focus();
    await page.keyboard.press("Enter");
    await boxes(page, 1);
    await page.locator(".free").first().focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement?.id === "part-words");
    await page.keyboard.type("pex89104");
    await page.locator("#verdict", { hasText: "comes up as gen5 x16" }).waitFor();
    await page.keyboard.press("Enter");
    await boxes(page, 2);
    await page.locator('.free[data-port="sw0.port1"]').focus();
    await page.keyboard.press("Space");
    await page.waitForFunction(() => document.activeElement?.id === "part-words");
    await page.keyboard.press("Control+A");
    await page.keyboard.type("accelerator gen5 x16");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await boxes(page, 3);
    assert.match(await page.locator("#built").innerText(), /^Added gpu0 to sw0\.port1\. It comes up as gen5 x16\./);
    // The next one goes beside it.
    await page.keyboard.press("Enter");
    await boxes(page, 4);
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.activeElement?.id === "open-parts");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement?.id === "work-kind");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.activeElement?.id === "open-work");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement?.id === "work-kind");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.type("w");
    await page.locator("#add-work").focus();
    await page.keyboard.press("Enter");
    await page.locator("#limited-by").waitFor();
    assert.equal(
      await text(page),
      'title = "A new rig"\n\n[host.server]\npart = "generic-gen5-server"\n\n[switch.sw0]\npart = "broadcom-pex89104"\nattach = "server.slot1"\n\n' +
        `[endpoint.gpu0]\npart = "${/gpu0\]\npart = "([^"]+)"/.exec(await text(page))?.[1]}"\nattach = "sw0.port1"\n\n[endpoint.gpu1]\npart = "${/gpu1\]\npart = "([^"]+)"/.exec(await text(page))?.[1]}"\nattach = "sw0.port2"\n\n` +
        '[[workload]]\nkind = "dma"\ndevice = "gpu1"\ndirection = "write"\n',
    );
    // One step of undo for each act, and one for the new rig.
    for (let step = 0; step < 4; step++) await page.locator("#undo").click();
    assert.equal(await text(page), 'title = "A new rig"\n\n[host.server]\npart = "generic-gen5-server"\n');
    await page.locator("#undo").click();
    assert.equal(await text(page), before);
  }));

test("a part is dragged onto a port, which says what it gives; one that does not fit says why", () =>
  inLab(async (page) => {
    await page.locator("#open-parts").click();
    await page.locator("#part-words").fill("980 pro");
    const part = page.locator('#part-list [role="option"]').first();
    await drag(page, part, page.locator('.free[data-port="sw0.port9"]'), async () => {
      await page.locator(".free.fits.over").waitFor();
      await page.locator(".ghost", { hasText: "It comes up as gen4 x4." }).waitFor();
    });
    await boxes(page, 11);
    assert.match(await text(page), /attach = "sw0\.\*" +# on the next free ports\n\n\[endpoint\.nvme0\]\npart = "samsung-980-pro"\nattach = "sw0\.port9"\n/);
    // Escape lets go of nothing: what is refused next would come after what that had added.
    const added = await text(page);
    await drag(page, part, page.locator('.free[data-port="sw0.port10"]'), async () => {
      await page.locator(".ghost").waitFor();
      await page.keyboard.press("Escape");
      await page.locator(".ghost").waitFor({ state: "detached" });
    });
    // A drive is no place for another.
    await drag(page, part, box(page, "nvme[1]"));
    await page.locator("#built.refused", { hasText: /needs a port/ }).waitFor();
    await page.locator("#part-words").fill("SAS disk 73");
    await drag(page, page.locator('#part-list [role="option"]').first(), box(page, "nvme[1]"), async () => void (await page.locator(".box.refuses.over").waitFor()));
    await page.locator("#built.refused", { hasText: /^Not done: .*nvme\[1\]/ }).waitFor();
    assert.equal(await text(page), added, "the core was asked about this last, and answers in turn");
    // A host stands for itself, beside the others.
    await page.locator("#part-words").fill("generic gen5 server");
    await drag(page, page.locator('#part-list [role="option"]').first(), page.locator(".legend"));
    await boxes(page, 12);
    assert.match(await text(page), /\[host\.server2\]/);
  }));

test("a device is dragged to another slot, and its link comes up there", () =>
  inLab(async (page) => {
    await page.selectOption("#example", "wrong_slot.toml");
    await box(page, "nic").waitFor();
    const before = readFileSync(join(ROOT, "scenarios/wrong_slot.toml"), "utf8");
    await drag(page, box(page, "nic"), page.locator('.free[data-port="server.slot1"]'));
    await page.locator(".box.endpoint", { hasText: "gen3 x16" }).waitFor();
    assert.equal(await text(page), before.replace('attach = "server.slot2"', 'attach = "server.slot1"'));
    assert.equal(await box(page, "nic").getAttribute("aria-pressed"), "true", "what was dragged is chosen, once");
  }));

test("devices are moved, multiplied and deleted with buttons and keys, with what hangs on them", () =>
  inLab(async (page) => {
    const before = await text(page);
    await box(page, "nvme[3]").focus();
    await page.keyboard.press("Enter");
    await page.locator("#one-more").click();
    await boxes(page, 11);
    assert.equal(await text(page), before.replace("count = 8 ", "count = 9 "));
    await page.selectOption("#move-to", "server.slot2");
    await box(page, "nvme0").waitFor();
    assert.match(await text(page), /count = 8 [^]*\[endpoint\.nvme0\][^]*attach = "server\.slot2"[^]*name = "write_nvme0"\ndevice = "nvme0"/);
    await page.locator("#built button").click();
    await page.waitForFunction(() => !document.querySelector('[data-device="nvme0"]'));
    await box(page, "sw0").focus();
    await page.keyboard.press("Delete");
    await boxes(page, 1);
    await page.waitForFunction(() => document.activeElement?.classList.contains("rig-scroll"));
    assert.match(await page.locator("#built").innerText(), /^Deleted sw0, and 9 below it and its workload\./);
    assert.doesNotMatch(await text(page), /workload|endpoint|switch/);
    await page.locator(".hint", { hasText: "A host alone" }).waitFor();
    await page.locator("#undo").click();
    await page.locator("#undo").click();
    await boxes(page, 10);
    assert.equal(await text(page), before);
    // Work is chosen among the settings.
    await page.selectOption("#owner", "workload.write");
    await page.selectOption("#owner", "nvme");
    await page.selectOption("#owner", "workload.write");
    await page.locator("#delete").click();
    await page.locator(".hint", { hasText: "no workload" }).waitFor();
  }));

test("what is typed while the core is asked about one more stays, and the act is not done", () =>
  inLab(async (page) => {
    const before = await text(page);
    await box(page, "nvme[3]").click();
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+End");
    // One task of the page: no answer of the core can come between the press and the letters.
    await page.evaluate(() => {
      document.querySelector<HTMLElement>("#one-more")?.click();
      document.execCommand("insertText", false, "# typed meanwhile");
    });
    await page.locator("#built.refused", { hasText: "the text changed meanwhile" }).waitFor();
    assert.equal(await text(page), `${before}# typed meanwhile`);
    await page.locator("#one-more").click();
    await page.locator("#built.done").waitFor();
    assert.equal(await text(page), `${before.replace("count = 8 ", "count = 9 ")}# typed meanwhile`);
  }));

test("the word of an act offers undo only as long as the next undo is of this act", () =>
  inLab(async (page) => {
    const before = await text(page);
    const undo = page.locator("#built button");
    await box(page, "sw0").focus();
    await page.keyboard.press("Delete");
    await undo.waitFor();
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+End");
    await page.keyboard.insertText("# later");
    await undo.waitFor({ state: "detached" });
    assert.match(await page.locator("#built").innerText(), /^Deleted sw0/);
    await page.locator("#undo").click();
    await undo.click();
    await boxes(page, 10);
    assert.equal(await text(page), before);
    assert.equal(await page.locator("#built").count(), 0);
  }));

test("a workload that makes no sense is refused with the core's words, and nothing changes", () =>
  inLab(async (page) => {
    const before = await text(page);
    await page.locator("#open-work").click();
    await page.selectOption("#work-kind", "fio");
    await page.locator('[data-key="bs"]').fill("seven");
    await page.locator("#add-work").click();
    await page.locator("#built.refused").waitFor();
    assert.equal(await text(page), before);
    assert.ok(await page.locator('[data-key="bs"]').isVisible(), "what was filled in is kept");
    await page.locator('[data-key="bs"]').fill("128 KiB");
    await page.selectOption("#work-kind", "dma");
    await page.locator('[data-key="size"]').fill("4 KiB");
    await page.locator("#add-work").click();
    await page.locator("#built.done").waitFor();
    assert.match(await text(page), /\[\[workload\]\]\nkind = "dma"\ndevice = "nvme\[\*\]"\ndirection = "read"\nsize = "4 KiB"\n$/);
  }));

test("while the text has mistakes nothing is built on it", () =>
  inLab(async (page) => {
    await page.locator("#open-parts").click();
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+End");
    await page.keyboard.insertText("nonsense");
    await page.locator("#mistakes").waitFor();
    assert.ok(await page.locator("#add-part").isDisabled());
    const broken = await text(page);
    await box(page, "nvme[3]").focus();
    await page.keyboard.press("Delete");
    // The core answers in turn: when the text without the mistake is read, a text without the drive would have been.
    await page.locator("#undo").click();
    await page.locator("#mistakes").waitFor({ state: "detached" });
    assert.equal(await page.locator("#built").count(), 0, "nothing was done, and nothing was asked");
    await page.locator("#redo").click();
    assert.equal(await text(page), broken);
  }));

test("on a phone a rig is built with taps alone", async () => {
  const context = await browser.newContext({ offline: true, viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const page = await context.newPage();
  await page.goto(PAGE);
  await page.locator("#fingerprint").waitFor();
  await page.locator('.free[data-port="server.slot2"]').tap();
  await page.locator('#part-list [role="option"]').first().waitFor();
  await page.selectOption('[aria-label="Kind of part"]', "Accelerator");
  await page.locator('#part-list [role="option"]', { hasText: "A100 PCIe" }).tap();
  await page.locator("#verdict", { hasText: "comes up as gen4 x16" }).waitFor();
  assert.equal(await page.locator("#part-place").inputValue(), "server.slot2");
  await page.locator("#add-part").tap();
  await boxes(page, 11);
  await page.locator("#built button").tap();
  await boxes(page, 10);
  assert.ok(!(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)));
  await context.close();
});

test("building is fit for a screen reader, light and dark, wide and narrow", () =>
  inLab(async (page) => {
    await box(page, "nvme[3]").click();
    await page.locator("#open-work").click();
    await page.locator("#open-parts").click();
    await page.locator("#one-more").click();
    await page.locator("#built").waitFor();
    await assertFit(page);
  }));
