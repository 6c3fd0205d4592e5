/** The page where there is little room: on a phone, and with names as long as names may be. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { assertFit, openLab, startBrowser } from "./start.ts";

const ROOT = join(import.meta.dirname, "../../..");
const TABS = ["rig", "understand", "packets", "compare", "explore", "diagnose"];
/** Pixels of letters that can still be read. */
const LEAST_LETTER = 8.5;

let browser: Browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser.close());

async function onScreen(width: number, work: (page: Page) => Promise<void>): Promise<void> {
  const { page, faults } = await openLab(browser);
  await page.setViewportSize({ width, height: 844 });
  await page.locator("#fingerprint").waitFor();
  await work(page);
  assert.deepEqual(faults, []);
  await page.context().close();
}

/** How many pixels high letters of the picture are: the smallest of them. */
const letters = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const picture = document.getElementById("rig") as unknown as SVGSVGElement;
    const scale = picture.getBoundingClientRect().width / picture.viewBox.baseVal.width;
    return Math.min(...[...picture.querySelectorAll("text")].map((text) => Number.parseFloat(getComputedStyle(text).fontSize))) * scale;
  });

test("on a phone the picture of three levels is as wide as the page, and can be read", () =>
  onScreen(390, async (page) => {
    assert.ok((await letters(page)) > LEAST_LETTER, `${await letters(page)} px`);
    assert.ok(await page.locator(".rig-scroll").evaluate((each) => each.scrollWidth <= each.clientWidth), "nothing of it is out of sight");
    await page.setViewportSize({ width: 1280, height: 844 });
    await page.waitForFunction(() => document.querySelectorAll(".rig .port").length === 9);
  }));

test("on a phone the text is one press away, and so is what is above it", () =>
  onScreen(390, async (page) => {
    const isSeen = (selector: string): Promise<boolean> => page.locator(selector).evaluate((each) => each.getBoundingClientRect().top >= 0 && each.getBoundingClientRect().bottom <= innerHeight);
    await page.locator("#to-text").click();
    assert.ok(await isSeen(".editor"));
    await page.locator("#to-tabs").click();
    assert.ok(await isSeen("#tab-rig"));
    await page.setViewportSize({ width: 1280, height: 844 });
    assert.equal(await page.locator("#to-text, #to-tabs").filter({ visible: true }).count(), 0);
  }));

test("long names make no tab wider than the page, and members of a group can be told apart", () =>
  onScreen(1280, async (page) => {
    const device = `drive_${"x".repeat(50)}_12`;
    const rack = `switch_${"y".repeat(50)}_7`;
    const text = readFileSync(join(ROOT, "scenarios/oversubscribed.toml"), "utf8").replace("count = 8", "count = 7").replaceAll("nvme", device).replaceAll("sw0", rack);
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+A");
    await page.keyboard.insertText(text);
    await page.locator("#limited-by", { hasText: rack }).waitFor();
    const boxes = await page.locator(".rig .box").evaluateAll((all) =>
      all.map((box) => {
        const [name, frame] = [box.querySelector(".name"), box.querySelector("rect")] as [Element, Element];
        return { name: name.textContent, sticksOut: name.getBoundingClientRect().right > frame.getBoundingClientRect().right };
      }),
    );
    assert.ok(boxes.every(({ sticksOut }) => !sticksOut));
    assert.equal(new Set(boxes.map(({ name }) => name)).size, 9);
    const overlaps = await page.evaluate(() => {
      const [names, ports] = [".name, .under", ".port"].map((of) => [...document.querySelectorAll("#rig text")].filter((text) => text.matches(of)).map((text) => text.getBoundingClientRect()));
      // A line is higher than its letters.
      return names!.filter((name) => ports!.some((port) => name.left < port.right && port.left < name.right && name.top + 3 < port.bottom - 3 && port.top + 3 < name.bottom - 3)).length;
    });
    assert.equal(overlaps, 0, "names of boxes and of ports lie beside one another");
    for (const tab of TABS) {
      await page.locator(`#tab-${tab}`).click();
      if (tab === "packets") await page.locator("#packets .packet-row").nth(3).waitFor();
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 844 });
        // Plots are drawn anew in a moment.
        const fits = page.waitForFunction(() => document.documentElement.scrollWidth <= innerWidth);
        await assert.doesNotReject(fits, `${tab} at ${width} px`);
      }
    }
    await page.locator("#tab-rig").click();
    await assertFit(page);
  }));
