/** What goes wrong around the page is said, and the scenario is kept. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { openLab, startBrowser } from "./start.ts";

let browser: Browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser.close());

async function told(page: Page, words: RegExp): Promise<void> {
  await page.locator("#notice", { hasText: words }).waitFor();
  assert.match(await page.locator(".cm-content").innerText(), /\[host\.server\]/);
}

test("a worker that does not start", async () => {
  const { page } = await openLab(browser, undefined, 'window.Worker = class { constructor() { throw new Error("no workers here"); } };');
  await told(page, /simulator does not start: no workers here/);
  assert.ok(await page.locator("#play").isDisabled());
  await page.context().close();
});

test("a browser without WebAssembly", async () => {
  const { page } = await openLab(browser, undefined, "delete window.WebAssembly;");
  await told(page, /simulator does not start/);
  await page.context().close();
});

test("a worker that dies", async () => {
  const script = `const Real = Worker;
    window.Worker = class extends Real { constructor(...given) { super(...given); window.worker = this; } };`;
  const { page } = await openLab(browser, undefined, script);
  await page.locator("#fingerprint").waitFor();
  await page.selectOption("#speed", { label: "1 µs a second" });
  await page.locator("#play").click();
  await page.locator(".rig .rate").first().waitFor();
  await page.evaluate('worker.terminate(), worker.dispatchEvent(new ErrorEvent("error", { message: "out of memory" }))');
  await told(page, /simulator stopped: out of memory.*started again/);
  // The next run begins anew.
  await page.locator("#end").click();
  await page.locator("#fingerprint").waitFor();
  await page.context().close();
});

test("a trap while a part is added, and a worker that dies then", async () => {
  // Calls that a test has named are answered as a trap is, or not at all.
  const script = `window.broken = null;
    const Real = Worker;
    window.Worker = class extends Real {
      constructor(...given) { super(...given); window.worker = this; }
      postMessage(call) {
        if (call.verb !== window.broken) return super.postMessage(call);
        const errors = [{ message: "unreachable executed", code: "internal", path: null, line: null, column: null, hint: null }];
        if (window.dies) this.terminate(), this.dispatchEvent(new ErrorEvent("error", { message: "out of memory" }));
        else this.dispatchEvent(new MessageEvent("message", { data: { id: call.id, failure: { format: 1, status: 3, errors } } }));
      }
    };`;
  const { page, faults } = await openLab(browser, undefined, script);
  await page.locator("#fingerprint").waitFor();
  await page.locator(".free").first().click();
  await page.locator("#verdict", { hasText: "comes up" }).waitFor();
  const text = await page.locator(".cm-content").innerText();
  await page.evaluate('window.broken = "explain"');
  await page.locator("#add-part").click();
  await page.locator("#built.refused", { hasText: "Not done: unreachable executed" }).waitFor();
  assert.equal(await page.locator(".cm-content").innerText(), text);
  await page.evaluate("window.dies = true");
  await page.locator("#add-part").click();
  await page.evaluate("window.broken = null");
  await told(page, /simulator stopped: out of memory.*started again/);
  assert.equal(await page.locator(".cm-content").innerText(), text);
  await page.locator("#add-part").click();
  await page.waitForFunction(() => document.querySelectorAll(".rig .box").length === 11);
  assert.deepEqual(faults, []);
  await page.context().close();
});

test("results of a run that is lost do not pass as those of the text", async () => {
  // A call that a test has named fails as a trap does.
  const script = `window.broken = null;
    const Real = Worker;
    window.Worker = class extends Real {
      constructor(...given) { super(...given); window.worker = this; }
      postMessage(call) {
        if (call.verb !== window.broken) return super.postMessage(call);
        const errors = [{ message: "unreachable executed", code: "internal", path: null, line: null, column: null, hint: null }];
        this.dispatchEvent(new MessageEvent("message", { data: { id: call.id, failure: { format: 1, status: 3, errors } } }));
      }
    };`;
  const { page, faults } = await openLab(browser, undefined, script);
  const gone = (): Promise<void> => page.locator("#fingerprint").waitFor({ state: "detached" });
  await page.locator("#fingerprint").waitFor();
  await page.evaluate('window.broken = "ofSession"');
  await page.locator("#end").click();
  await told(page, /run does not begin: unreachable executed/);
  await gone();
  assert.ok(await page.locator("#save-json").isDisabled());
  await page.evaluate("window.broken = null");
  await page.locator("#end").click();
  await page.locator("#fingerprint").waitFor();
  await page.evaluate('worker.terminate(), worker.dispatchEvent(new ErrorEvent("error", { message: "out of memory" }))');
  await told(page, /simulator stopped: out of memory.*started again/);
  await gone();
  await page.locator("#end").click();
  await page.locator("#fingerprint").waitFor();
  assert.deepEqual(faults, []);
  await page.context().close();
});

test("a text that is no scenario by its size", async () => {
  const { page, faults } = await openLab(browser);
  await page.locator("#fingerprint").waitFor();
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+End");
  await page.evaluate(() => {
    const data = new DataTransfer();
    data.setData("text/plain", "# padding\n".repeat(5_000_000));
    document.querySelector(".cm-content")?.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
  });
  await page.locator("#notice").waitFor();
  assert.match(await page.locator("#notice").innerText(), /which no scenario has/);
  assert.equal(await page.locator(".rig .box").count(), 10, "the picture stays");
  assert.ok(await page.locator("#play").isDisabled());
  assert.match(await page.locator(".clock").innerText(), /The text has mistakes/);
  await page.locator("#undo").click();
  await page.locator("#play:enabled").waitFor();
  await page.locator("#notice").waitFor({ state: "detached" });
  assert.deepEqual(faults, []);
  await page.context().close();
});

test("a browser of an odd locale, in which number formats are missing", async () => {
  const odd = await startBrowser({ LANG: "C", LC_ALL: "C", LANGUAGE: "" });
  const { page } = await openLab(odd);
  await page.locator("#fingerprint").waitFor();
  assert.match(await page.locator(".answer .total").innerText(), /28\.\d GB\/s/);
  await odd.close();
});
