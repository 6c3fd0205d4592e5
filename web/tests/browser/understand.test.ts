/** The tab Understand: its numbers are those of the native core; what is tried, taken over and varied; keyboard, screen reader, phone, faults. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Results } from "lanewise";
import type { Browser, Page } from "playwright-core";
import { PAGE, assertFit, openLab, startBrowser } from "./start.ts";

const ROOT = join(import.meta.dirname, "../../..");

let browser: Browser;
before(async () => {
  browser = await startBrowser();
});
after(() => browser.close());

/** Opens the tab on an example, does something, and sees to it that nothing went wrong in it and nothing was asked of a network. */
async function understanding(example: string, work: (page: Page) => Promise<void>, script?: string): Promise<void> {
  const { page, faults, requests } = await openLab(browser, PAGE, script);
  await page.locator("#fingerprint").waitFor();
  if (example !== "oversubscribed") {
    const old = await page.locator("#fingerprint").innerText();
    await page.selectOption("#example", `${example}.toml`);
    await page.waitForFunction((fingerprint) => ![undefined, fingerprint].includes(document.getElementById("fingerprint")?.textContent ?? undefined), old);
  }
  await page.getByRole("tab", { name: "Understand" }).click();
  await page.locator("#gives").waitFor();
  await work(page);
  assert.deepEqual([faults, requests], [[], []]);
  await page.context().close();
}

/** What the native core says of a shipped scenario. */
function native(name: string, sets: string[] = []): Results {
  const given = sets.flatMap((each) => ["--set", each]);
  const said = execFileSync(join(ROOT, ".venv/bin/lanewise"), ["run", join(ROOT, `scenarios/${name}.toml`), "--json", ...given], { encoding: "utf8", maxBuffer: 1e9 });
  return JSON.parse(said) as Results;
}

const total = ({ flows }: Results): number => flows.filter(({ direction }) => direction !== "control").reduce((sum, flow) => sum + flow.goodput_gb_per_s, 0);
/** As the page writes it, of rates between 1 and 100 GB/s. */
const rate = (value: number): string => `${value.toFixed(value < 10 ? 2 : 1)} GB/s`;

test("one heading for each question, and the numbers of the native run", () =>
  understanding("oversubscribed", async (page) => {
    const said = native("oversubscribed");
    const tab = page.getByRole("region", { name: "What the results mean" });
    const headings = ["What does it give?", "Why not more?", "What would help?", "How long does an operation take?", "What is assumed?"];
    assert.deepEqual(await tab.getByRole("heading", { level: 2 }).allInnerTexts(), headings);
    assert.equal(await tab.locator(".total").innerText(), rate(total(said)));
    assert.equal(await page.locator("#limit").innerText(), `${said.limited_by?.sentence}.`);
    const { ladder, time_attribution } = said.links.find(({ name }) => name === "sw0")?.upstream ?? assert.fail();
    const step = (name: string) => page.locator(`#steps [data-step=${name}] .number`).innerText();
    assert.deepEqual(
      [await step("line"), await step("ordered_sets"), await step("dllps"), await step("payload")],
      [ladder.line_rate_gb_per_s, ladder.link_bandwidth_gb_per_s, ladder.tlp_bandwidth_gb_per_s, ladder.goodput_gb_per_s].map(rate),
    );
    await page.locator("#time-of-links summary").click();
    const payload = page.locator("#time-of-links tr", { hasText: "sw0, upstream" }).first();
    assert.equal(await payload.innerText(), `sw0, upstream\tpayload\t${(100 * (time_attribution["payload"] ?? 0)).toFixed(2)} %`);
    // Any other link, by keyboard.
    await page.locator("#ladder-of").focus();
    await page.keyboard.press("ArrowDown");
    await page.locator("#steps caption", { hasText: "sw0, downstream" }).waitFor();
    await page.selectOption("#ladder-of", "nvme[3] upstream");
    const drive = said.links.find(({ name }) => name === "nvme[3]")?.upstream.ladder;
    assert.equal(await step("payload"), rate(drive?.goodput_gb_per_s ?? 0));
    assert.match(await page.locator("#steps [data-step=silence]").innerText(), /waits for posted data credits of the receiver \(\d/);
    // Latencies: the first flow of the list is chosen, and all are in the table.
    await page.locator("summary", { hasText: "All flows" }).click();
    const flow = said.flows.find(({ name }) => name === "write nvme[3]") ?? assert.fail();
    const row = await page.locator("#latencies tr", { hasText: "requests of write nvme[3]" }).innerText();
    assert.ok(row.includes(`${((flow.latency_ns.p99 ?? 0) / 1000).toFixed(2)} µs`) && row.endsWith(flow.latency_ns.count.toLocaleString("en")), row);
    assert.ok(await page.locator(".understand .chart canvas").isVisible());
  }));

test("what would help is tried, gives what the native core gives, and is taken over and undone", () =>
  understanding("oversubscribed", async (page) => {
    const said = native("oversubscribed");
    const [edit] = said.limited_by?.edits ?? assert.fail();
    assert.ok(edit);
    const after = native("oversubscribed", edit.settings.map((each) => `${each.path}=${each.after}`));
    const one = page.locator(`.edits li[data-what="${edit.what}"]`);
    const fingerprint = await page.evaluate(() => document.querySelector(".total")?.textContent);
    await one.getByRole("button", { name: `Try: ${edit.what}` }).focus();
    await page.keyboard.press("Enter");
    await one.locator(".outcome").waitFor();
    const outcome = await one.locator(".outcome").innerText();
    assert.ok(outcome.includes(`${rate(total(said))} → ${rate(total(after))}, ${(total(after) / total(said)).toFixed(2)} times as much`), outcome);
    assert.ok(outcome.includes(`Then limited${after.limited_by?.sentence.slice("Limited".length)}.`), outcome);
    // Nothing has changed on the page.
    assert.equal(await page.evaluate(() => document.querySelector(".total")?.textContent), fingerprint);
    const text = await page.locator(".cm-content").innerText();
    await one.getByRole("button", { name: `Take it over: ${edit.what}` }).click();
    await page.locator("#limit", { hasText: after.limited_by?.sentence ?? "" }).waitFor();
    assert.notEqual(await page.locator(".cm-content").innerText(), text);
    await page.getByRole("tab", { name: "Rig" }).click();
    assert.equal(await page.locator("#fingerprint").innerText(), after.fingerprint);
    await page.locator("#undo").click();
    await page.waitForFunction((old) => document.getElementById("fingerprint")?.textContent === old, said.fingerprint);
    assert.equal(await page.locator(".cm-content").innerText(), text);
  }));

/** One header credit is the limit. With twice as many, the data credits are so many that credits are scaled, which asks for four. */
const ONE_CREDIT = `
[run]
time_limit = "2 ms"
[host.server]
slots = { slot1 = "gen4 x16" }
credits = { posted_header = 1 }
[endpoint.card]
attach = "server.slot1"
generation = "gen4"
width = "x16"
[[workload]]
kind = "dma"
name = "write"
device = "card"
direction = "write"
size = "64 B"
outstanding = 64
`;

test("a link opens the tab at the ladder that was shown", () =>
  understanding("oversubscribed", async (page) => {
    await page.selectOption("#ladder-of", "nvme[3] upstream");
    await page.locator("#share").click();
    await page.waitForFunction(() => location.hash.length > 10);
    const other = await openLab(browser, PAGE + new URL(page.url()).hash);
    await other.page.locator("#steps caption", { hasText: "nvme[3], upstream" }).waitFor();
    assert.deepEqual(other.faults, []);
    await other.page.context().close();
  }));

test("a machine that cannot be is refused in the core's words, and changes nothing", () =>
  understanding("oversubscribed", async (page) => {
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+A");
    await page.keyboard.insertText(ONE_CREDIT);
    await page.locator("#limit", { hasText: "posted credits of server.slot1" }).waitFor({ timeout: 60_000 });
    const credits = page.locator('.edits li[data-what="twice the posted credits"]');
    await credits.getByRole("button", { name: "Try: twice the posted credits" }).click();
    await credits.locator(".refused", { hasText: "asks for at least 4" }).waitFor({ timeout: 60_000 });
    assert.ok(await credits.getByRole("button", { name: "Take it over: twice the posted credits" }).isDisabled());
    assert.ok((await page.locator(".cm-content").innerText()).includes("posted_header = 1"));
    assert.match(await page.locator("#limit").innerText(), /posted credits/);
  }));

test("an assumption is varied, and what it moves is what the native core moves", () =>
  understanding("nvme_fio", async (page) => {
    const said = native("nvme_fio");
    const row = page.locator('.assumptions tr[data-path="ssd.nvme.read_rate"]');
    if ((await row.count()) === 0) await page.getByRole("button", { name: /^Show all/ }).click();
    assert.match(await row.innerText(), /7 GB\/s[^]*± to 5\.6 GB\/s, 8\.4 GB\/s/);
    await row.getByRole("button", { name: "± to 5.6 GB/s, 8.4 GB/s: ssd.nvme.read_rate" }).press("Enter");
    await row.locator("p", { hasText: /^5\.6 GB\/s: payload/ }).waitFor();
    const moved = 100 * (1 - total(native("nvme_fio", ["ssd.nvme.read_rate=5.6 GB/s"])) / total(said));
    assert.ok((await row.innerText()).includes(`5.6 GB/s: payload −${moved.toFixed(1)} %`), await row.innerText());
  }));

test("an edit makes the answers wait; a large rig is simulated when asked", async () => {
  const { page, faults } = await openLab(browser);
  await page.locator("#fingerprint").waitFor();
  await page.getByRole("button", { name: "Why, and what would help?" }).press("Enter");
  await page.locator("#gives").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.id), "tab-understand");
  await page.selectOption("#example", "enclosure.toml");
  await page.locator("#simulate").waitFor();
  assert.equal(await page.locator("#gives").count(), 0);
  await page.locator("#simulate").click();
  await page.locator("#limit").waitFor({ timeout: 120_000 });
  const said = native("enclosure");
  assert.equal(await page.locator("#limit").innerText(), `${said.limited_by?.sentence}.`);
  assert.deepEqual(faults, []);
  await page.context().close();
});

/** A second worker that does not start: trials say so, and the page goes on. */
const ONE_WORKER = `{
  const Own = Worker;
  let count = 0;
  globalThis.Worker = class extends Own { constructor(...given) { if (++count > 1) throw new Error("no more workers"); super(...given); } };
}`;

test("where a second worker does not start, a trial says so, and the results stay", () =>
  understanding(
    "oversubscribed",
    async (page) => {
      await page.locator(".edits button").first().click();
      await page.locator(".edits .refused", { hasText: "no more workers" }).waitFor();
      assert.ok(await page.locator("#limit").isVisible());
    },
    ONE_WORKER,
  ));

/** Workers that do not answer a run while the page is slow. */
const SLOW = `window.slow = false;
  const Real = Worker;
  window.Worker = class extends Real { postMessage(call) { if (call.verb !== "run" || !window.slow) super.postMessage(call); } };`;

test("what is under way is stopped, and can be tried again", () =>
  understanding(
    "nvme_fio",
    async (page) => {
      await page.evaluate("slow = true");
      await page.locator("#vary-all").click();
      await page.locator(".assumptions", { hasText: "it is simulated" }).waitFor();
      await page.locator(".understand button", { hasText: "Stop" }).first().click();
      await page.waitForFunction(() => !document.querySelector(".assumptions")?.textContent?.includes("it is simulated"));
      assert.equal(await page.locator(".understand button", { hasText: "Stop" }).count(), 0);
      await page.evaluate("slow = false");
      await page.locator(".edits button").first().click();
      await page.locator(".outcome").first().waitFor({ timeout: 60_000 });
    },
    SLOW,
  ));

test("a paste of 50 MB is refused in words, and the page goes on", async () => {
  const { page } = await openLab(browser);
  await page.locator("#fingerprint").waitFor();
  await page.getByRole("tab", { name: "Understand" }).click();
  await page.locator("#gives").waitFor();
  await page.locator(".cm-content").click();
  const milliseconds = await page.evaluate(() => {
    const data = new DataTransfer();
    data.setData("text/plain", "# padding\n".repeat(5_000_000));
    const begin = performance.now();
    document.querySelector(".cm-content")?.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    return performance.now() - begin;
  });
  await page.locator("#notice", { hasText: "which no scenario has" }).waitFor({ timeout: 30_000 });
  assert.ok(milliseconds < 20_000, `${milliseconds} ms`);
  // The answers were of the text before it.
  await page.locator(".understand", { hasText: "This text is too long for a scenario" }).waitFor();
  assert.ok(await page.locator("#simulate").isDisabled());
  await page.locator("#undo").click();
  await page.locator("#gives").waitFor({ timeout: 60_000 });
  await page.locator(".edits button").first().click();
  await page.locator(".outcome").first().waitFor({ timeout: 60_000 });
  await page.context().close();
});

test("the tab is fit for a screen reader, light and dark, wide and narrow", () =>
  understanding("nvme_fio", async (page) => {
    await page.locator(".edits button").first().click();
    await page.locator(".outcome").first().waitFor({ timeout: 60_000 });
    for (const summary of await page.locator(".understand summary").all()) await summary.click();
    await assertFit(page);
  }));
