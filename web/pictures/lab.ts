/**
 * Takes the pictures of the README from the page itself: an example plays, its links take colour, the page says what limits it, and
 * what would help.
 *
 * Usage: lab.ts FOLDER. It gets a PNG for each picture, and `frames.json`: their order, and how long each is shown;
 * and `still.png`. `docs/img/lab.py` puts them together.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { openLab, startBrowser } from "../tests/browser/start.ts";

const folder = process.argv[2];
if (!folder) throw new Error("usage: lab.ts FOLDER");
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

/** Real time between two pictures of a run that plays, ms: time enough for a picture on a busy machine. */
const EVERY = 200;
/** How long each of them is shown, ms. */
const SHOWN = 160;
/** How long it is shown what the page says when it has simulated, ms. */
const TO_READ = 3500;

const frames: { file: string; ms: number }[] = [];
const browser = await startBrowser();
const { page, faults } = await openLab(browser);
await page.setViewportSize({ width: 1280, height: 900 });
const pointer = await pointerOf(page);
await page.locator("#fingerprint").waitFor();

await page.selectOption("#speed", { label: "1 µs a second" });
await press(page.locator("#restart"));
await press(page.locator("#play"));
await plays(13);
await page.selectOption("#speed", { label: "10 µs a second" });
await plays(5);
await press(page.locator("#end"));
await page.locator("#fingerprint").waitFor();
await take(TO_READ);
// The still one, without the pointer.
await pointer.evaluate((mark) => (mark.style.visibility = "hidden"));
await page.screenshot({ path: join(folder, "still.png") });
await pointer.evaluate((mark) => (mark.style.visibility = ""));
// Why, and what would help.
await press(page.locator("#tab-understand"));
await page.locator("#gives").waitFor();
await take(TO_READ);
await page.locator("#would-help").evaluate((heading) => heading.scrollIntoView());
const edit = page.locator(".edits li").first();
await press(edit.locator("button").first());
await edit.locator(".outcome").waitFor();
await edit.locator(".outcome").scrollIntoViewIfNeeded();
await take(TO_READ);
writeFileSync(join(folder, "frames.json"), JSON.stringify(frames, null, 2));

await browser.close();
if (faults.length > 0) throw new Error(faults.join("\n"));

async function take(ms: number): Promise<void> {
  const file = `${String(frames.length).padStart(3, "0")}.png`;
  await page.screenshot({ path: join(folder!, file) });
  frames.push({ file, ms });
}

async function plays(pictures: number): Promise<void> {
  for (let each = 0; each < pictures; each++) {
    const start = performance.now();
    await take(SHOWN);
    await page.waitForTimeout(Math.max(0, EVERY - (performance.now() - start)));
  }
}

async function press(button: Locator): Promise<void> {
  await point(button);
  await take(500);
  await button.click();
}

async function point(at: Locator): Promise<void> {
  await at.scrollIntoViewIfNeeded();
  const box = await at.boundingBox();
  if (!box) throw new Error(`nothing to point at: ${at}`);
  await pointer.evaluate((mark, [x, y]) => Object.assign((mark as HTMLElement).style, { left: `${x}px`, top: `${y}px` }), [box.x + box.width * 0.6, box.y + box.height * 0.55]);
}

/** A browser without a screen draws no pointer: this one shows what is pressed. */
async function pointerOf(of: Page): Promise<Locator> {
  await of.evaluate(() => {
    const mark = document.createElement("div");
    mark.id = "picture-pointer";
    mark.innerHTML = '<svg width="22" height="30" viewBox="0 0 11 15"><path d="M0 0v12l3-3 2 5 2-1-2-5h4z" fill="#111" stroke="#fff" stroke-width=".8"/></svg>';
    Object.assign(mark.style, { position: "fixed", left: "-50px", top: "-50px", zIndex: "9999", pointerEvents: "none" });
    document.body.append(mark);
  });
  return of.locator("#picture-pointer");
}
