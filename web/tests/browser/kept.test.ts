/** What a reload leaves, and what keys do. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { PAGE, assertFit, openLab, startBrowser } from "./start.ts";

let browser: Browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser.close());

const text = (page: Page): Promise<string> => page.locator(".cm-content").innerText();

async function type(page: Page, words: string): Promise<void> {
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.insertText(words);
}

test("a reload brings the text back and says so; a new tab begins as ever", async () => {
  const { page, faults } = await openLab(browser);
  await page.locator("#fingerprint").waitFor();
  await page.reload();
  await page.locator("#fingerprint").waitFor();
  assert.equal(await page.locator("#notice").count(), 0, "nothing was changed, so nothing is said");
  const first = await text(page);
  await type(page, "# mine\n");
  // At once, as who presses a key too many does.
  await page.reload();
  await page.locator("#notice").waitFor();
  assert.match(await page.locator("#notice").innerText(), /oversubscribed\.toml, as this tab had it before the reload/);
  assert.equal(await text(page), `# mine\n${first}`);
  await page.locator("#offer").click();
  await page.waitForFunction(() => !document.querySelector(".cm-content")?.textContent?.startsWith("# mine"));
  assert.equal(await text(page), first);
  await page.locator("#undo").click();
  assert.equal(await text(page), `# mine\n${first}`);
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.locator("#fingerprint").waitFor();
  assert.equal(await text(other), first);
  assert.deepEqual(faults, []);
  await page.context().close();
});

test("an edit takes the link out of the address, so that every reload has it", async () => {
  const { page } = await openLab(browser);
  await page.selectOption("#example", "wrong_slot.toml");
  await page.locator('[data-device="nic"]').waitFor();
  await page.locator("#share").click();
  await page.waitForFunction(() => location.hash.length > 10);
  const shared = await text(page);
  const link = page.url();
  await page.reload();
  await page.locator("#fingerprint").waitFor();
  assert.equal(await text(page), shared);
  assert.equal(page.url(), link, "nothing was edited");
  await type(page, "# later\n");
  await page.waitForFunction(() => location.hash === "");
  for (let reload = 0; reload < 2; reload++) {
    // At once, and a second time with nothing pressed.
    await page.reload();
    await page.locator("#notice", { hasText: "wrong_slot.toml, as this tab had it before the reload" }).waitFor();
    assert.equal(await text(page), `# later\n${shared}`);
  }
  // The link itself is what it was.
  await page.goto("about:blank");
  await page.goto(link);
  await page.locator("#fingerprint").waitFor();
  assert.equal(await text(page), shared);
  // Another link in the same tab is another page: nothing is offered beside it.
  const second = (await openLab(browser)).page;
  await second.selectOption("#example", "two_sockets.toml");
  await second.locator('[data-device="card"]').waitFor();
  await second.locator("#share").click();
  await second.waitForFunction(() => location.hash.length > 10);
  const { hash } = new URL(second.url());
  await second.context().close();
  await page.goto("about:blank");
  await page.goto(PAGE + hash);
  await page.locator('[data-device="card"]').waitFor();
  await page.locator("#fingerprint").waitFor();
  assert.equal(await page.locator("#notice").count(), 0);
  await page.context().close();
});

test("a browser that keeps nothing, or kept something else, begins anew", async () => {
  const refuses = await openLab(browser, undefined, "Object.defineProperty(window, 'sessionStorage', { get() { throw new DOMException('no', 'SecurityError'); } });");
  await refuses.page.locator("#fingerprint").waitFor();
  await type(refuses.page, "# mine\n");
  await refuses.page.waitForTimeout(600);
  await refuses.page.reload();
  await refuses.page.locator("#fingerprint").waitFor();
  assert.doesNotMatch(await text(refuses.page), /# mine/);
  assert.deepEqual(refuses.faults, []);
  await refuses.page.context().close();
  const odd = await openLab(browser, undefined, "sessionStorage.setItem(`lanewise-lab ${location.pathname}`, '{\"text\": 7');");
  await odd.page.locator("#fingerprint").waitFor();
  assert.equal(await odd.page.locator("#notice").count(), 0);
  assert.deepEqual(odd.faults, []);
  await odd.page.context().close();
});

test("single keys steer a run, do nothing where one types, and can be turned off", async () => {
  const { page, faults } = await openLab(browser);
  await page.locator("#fingerprint").waitFor();
  await page.selectOption("#speed", { label: "1 µs a second" });
  await page.locator(".rig-scroll").focus();
  await page.keyboard.press("-");
  assert.equal(await page.locator("#speed option:checked").innerText(), "100 ns a second");
  await page.keyboard.press("+");
  await page.keyboard.press("Space");
  await page.locator(".rig .rate").first().waitFor();
  await page.locator("#play", { hasText: "Pause" }).waitFor();
  // What lies in a receiver, and what waits for a wire, is seen as it fills.
  await page.locator(".rig .buffer").first().waitFor();
  await page.locator(".rig .queue rect").first().waitFor();
  await page.keyboard.press("Space");
  await page.locator("#play", { hasText: "Go on" }).waitFor();
  await page.keyboard.press(".");
  await page.locator(".clock", { hasText: "One packet at a time" }).waitFor();
  await page.keyboard.press("e");
  await page.locator("#fingerprint").waitFor();
  await page.keyboard.press("?");
  await page.locator("dialog.keys").waitFor();
  await assertFit(page);
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.locator("dialog.keys input").uncheck();
  await page.keyboard.press("Escape");
  await page.locator(".rig-scroll").focus();
  await page.keyboard.press("p");
  assert.equal(await page.locator("#part-words").count(), 0);
  await page.locator("#keys").click();
  await page.locator("dialog.keys input").check();
  await page.keyboard.press("Escape");
  await page.locator(".rig-scroll").focus();
  // Held down, a key does its work once.
  await page.selectOption("#speed", { label: "1 ms a second" });
  await page.keyboard.down("-");
  await page.keyboard.down("-");
  await page.keyboard.down("-");
  await page.keyboard.up("-");
  assert.equal(await page.locator("#speed option:checked").innerText(), "100 µs a second");
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("# p.w");
  assert.match(await text(page), /# p\.w$/);
  assert.equal(await page.locator("#part-words").count(), 0);
  assert.deepEqual(faults, []);
  await page.context().close();
});

test("undo and the list of keys are on every tab; keys of the rig and its run only beside these", async () => {
  const { page, faults } = await openLab(browser);
  await page.locator("#fingerprint").waitFor();
  const before = await text(page);
  await type(page, "# mine\n");
  for (const tab of ["understand", "packets", "compare", "explore", "diagnose"]) {
    await page.locator(`#tab-${tab}`).click();
    await page.locator(`#tab-${tab}[aria-selected="true"]`).waitFor();
    await page.keyboard.press("?");
    await page.locator("dialog.keys").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("dialog.keys").waitFor({ state: "hidden" });
    await page.locator(`#tab-${tab}`).focus();
    await page.keyboard.press("u");
    assert.equal(await text(page), before, tab);
    await page.keyboard.press("Shift+U");
    assert.match(await text(page), /^# mine/, tab);
    await page.keyboard.press("p");
    await page.keyboard.press("w");
    await page.keyboard.press("-");
  }
  await page.locator("#tab-rig").click();
  await page.locator("#play").waitFor();
  assert.equal(await page.locator("#part-words, #work-kind").count(), 0, "what these keys open was not on the page, and is not");
  assert.equal(await page.locator("#speed option:checked").innerText(), "10 µs a second");
  await page.keyboard.press("w");
  await page.locator("#work-kind").waitFor();
  assert.deepEqual(faults, []);
  await page.context().close();
});

test("what was kept long before does not come back where there is no room for what is there now", async () => {
  const { page } = await openLab(browser);
  await page.locator("#fingerprint").waitFor();
  const first = await text(page);
  await type(page, "# kept\n");
  await page.reload();
  await page.locator("#notice", { hasText: "as this tab had it" }).waitFor();
  await page.evaluate(() => {
    Storage.prototype.setItem = () => {
      throw new DOMException("full", "QuotaExceededError");
    };
  });
  await type(page, "# more\n");
  await page.reload();
  await page.locator("#fingerprint").waitFor();
  assert.equal(await text(page), first);
  assert.equal(await page.locator("#notice").count(), 0);
  await page.context().close();
});
