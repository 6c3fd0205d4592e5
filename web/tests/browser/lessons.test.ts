/** A guided lesson, from its choice until it is left. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { assertFit, openLab, startBrowser } from "./start.ts";

const ROOT = join(import.meta.dirname, "../../..");
const RIG = join(ROOT, "web/src/lessons/lesson-why-x8.toml");

let browser: Browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser.close());

/** Payload of the lesson's rig in the native core, GB/s as the page writes it. */
function payload(...overrides: string[]): string {
  const sets = overrides.flatMap((each) => ["--set", each]);
  const said = execFileSync(join(ROOT, ".venv/bin/lanewise"), ["run", RIG, "--json", ...sets], { encoding: "utf8" });
  const { flows } = JSON.parse(said) as { flows: { goodput_gb_per_s: number }[] };
  return (flows[0]?.goodput_gb_per_s ?? Number.NaN).toFixed(2);
}

/** What a screen reader would read of the edit that was tried, once it has numbers. */
async function moved(page: Page): Promise<string> {
  await page.locator("#moved li").first().waitFor();
  return page.locator("#moved").innerText();
}

test("a lesson is chosen, tried, undone and left, by keyboard; what was there comes back", async () => {
  const { page, faults, requests } = await openLab(browser);
  await page.locator("#fingerprint").waitFor();
  const first = await page.locator("#fingerprint").innerText();
  await page.getByLabel("Learn").focus();
  await page.keyboard.press("ArrowDown");
  const panel = page.getByRole("region", { name: "Lesson", exact: true });
  await panel.locator("#ladder").waitFor();
  assert.match(await panel.innerText(), /Lesson 1 of 6[^]*Why does the adapter write less\?/);
  assert.match(await panel.locator("#ladder").innerText(), new RegExp(`Line rate[^]*8\\.00 GB/s[^]*Payload[^]*${payload()} GB/s`));
  await page.waitForFunction(() => document.querySelectorAll(".rig .box").length === 2);

  const larger = panel.getByRole("button", { name: "256 B of payload in a packet" });
  await larger.press("Enter");
  const said = await moved(page);
  assert.ok(said.includes(`rose from ${payload()} GB/s to ${payload("server.mps_supported=256 B")} GB/s.`), said);
  assert.equal(await larger.getAttribute("aria-pressed"), "true");
  assert.match(await page.locator(".cm-content").innerText(), /mps_supported = "256 B"/);
  // The run beside the lesson is of the same text.
  await page.waitForFunction((rate) => document.querySelector(".answer .total")?.textContent?.startsWith(rate), payload("server.mps_supported=256 B"));

  // Another edit starts from the lesson's rig, and undo takes it back.
  await panel.getByRole("button", { name: "A slot with four lanes" }).press("Enter");
  assert.ok((await moved(page)).includes(`fell from ${payload()} GB/s to ${payload("server.slots.slot1=gen3 x4")} GB/s.`));
  assert.doesNotMatch(await page.locator(".cm-content").innerText(), /256 B/);
  await page.locator("#undo").click();
  await page.waitForFunction(() => document.querySelector("[aria-pressed=true]")?.textContent?.startsWith("256 B"));
  await page.locator(".cm-content").focus();
  await page.keyboard.press("Control+End");
  await page.keyboard.insertText("# mine\n");
  await page.locator("#moved", { hasText: "You have changed the rig yourself" }).waitFor();

  await panel.getByRole("button", { name: "Leave the lesson" }).press("Enter");
  await panel.waitFor({ state: "detached" });
  await page.waitForFunction((old) => document.getElementById("fingerprint")?.textContent === old, first);
  assert.equal(await page.getByLabel("Example").inputValue(), "oversubscribed.toml");
  assert.deepEqual([faults, requests], [[], []]);
  await page.context().close();
});

test("undo of the choice leaves the lesson; every lesson has its ladder, and is fit for a screen reader", async () => {
  const { page, faults } = await openLab(browser);
  await page.locator("#fingerprint").waitFor();
  await page.selectOption("#lesson", { index: 1 });
  await page.locator("#ladder").waitFor();
  await page.locator("#undo").click();
  await page.locator(".lesson").waitFor({ state: "detached" });
  assert.equal(await page.locator("#example").inputValue(), "oversubscribed.toml");

  const titles = await page.locator("#lesson option").allInnerTexts();
  assert.equal(titles.length, 7);
  for (const [index, title] of titles.entries()) {
    if (index === 0) continue;
    await page.selectOption("#lesson", { index });
    await page.locator(".lesson h2", { hasText: title.replace(/^\d+\. /, "") }).waitFor();
    await page.locator("#ladder").waitFor();
    await page.locator(".lesson .tries button").first().click();
    await moved(page);
  }
  await assertFit(page);
  assert.deepEqual(faults, []);
  await page.context().close();
});
