/**
 * What who opens the lab waits for: the first picture, the first result, a result after an edit, and pictures a second while it runs.
 *
 * Medians and extremes of several; not a test, since they depend on what else the machine does.
 */
import type { Page } from "playwright-core";
import { openLab, startBrowser } from "../tests/browser/start.ts";

const REPEATS = 7;
/** Rigs of at most 20 devices, which are simulated after every edit; a setting of each. */
const EDITED = [
  ["first_rig.toml", "workload.write.size"],
  ["oversubscribed.toml", "workload.write.size"],
  ["nvme_fio.toml", "workload.read.bs"],
] as const;

const browser = await startBrowser();
print("first picture, ms", await repeated(() => sinceOpened(".rig .box")));
print("first result, ms", await repeated(() => sinceOpened("#fingerprint")));
for (const [example, path] of EDITED) {
  const { page } = await openLab(browser);
  await page.locator("#fingerprint").waitFor();
  await page.selectOption("#example", example);
  await page.locator(`[data-path="${path}"]`).waitFor();
  await page.locator("#fingerprint").waitFor();
  let size = 8;
  print(`edit to result, ${example}, ms`, await repeated(() => editToResult(page, path, `${(size += 4)} KiB`)));
  await page.context().close();
}
print("pictures a second, 68 links", await repeated(() => picturesASecond(), 3));
await browser.close();

async function sinceOpened(selector: string): Promise<number> {
  const start = performance.now();
  const { page } = await openLab(browser);
  await page.locator(selector).first().waitFor();
  const took = performance.now() - start;
  await page.context().close();
  return took;
}

function editToResult(page: Page, path: string, value: string): Promise<number> {
  return page.evaluate(
    async ([path, value]) => {
      const shown = (): string | undefined => document.getElementById("fingerprint")?.dataset["runs"];
      const before = shown();
      const field = document.querySelector<HTMLInputElement>(`[data-path="${path}"]`);
      if (!field) throw new Error(`there is no setting ${path}`);
      const start = performance.now();
      field.value = value ?? "";
      field.dispatchEvent(new Event("change", { bubbles: true }));
      while (shown() === before || !shown()) await new Promise((resolve) => setTimeout(resolve, 1));
      return performance.now() - start;
    },
    [path, value],
  );
}

async function picturesASecond(): Promise<number> {
  const { page } = await openLab(browser);
  await page.locator("#fingerprint").waitFor();
  const ports = Array.from({ length: 16 }, (_, index) => `port${index + 1} = "gen4 x2"`).join("\n");
  const slots = [1, 2, 3, 4].map((slot) => `slot${slot} = "gen4 x16"`).join(", ");
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(
    `[host.server]\nslots = { ${slots} }\n[switch.sw]\ncount = 4\nattach = "server.*"\n[switch.sw.ports]\nport0 = "gen4 x16"\n${ports}\n` +
      `[endpoint.nic]\npart = "generic-gen4-x4"\ncount = 64\nattach = "sw[*].*"\n[[workload]]\nkind = "dma"\ndevice = "nic[*]"\ndirection = "write"\n`,
  );
  await page.waitForFunction(() => document.querySelectorAll(".rig .box").length === 69);
  await page.locator("#play").click();
  const pictures = await page.evaluate(async () => {
    const start = performance.now();
    let count = 0;
    while (performance.now() - start < 3000) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      count++;
    }
    return count / 3;
  });
  await page.context().close();
  return pictures;
}

async function repeated(measure: () => Promise<number>, times = REPEATS): Promise<number[]> {
  const all: number[] = [];
  for (let time = 0; time < times; time++) all.push(await measure());
  return all.sort((one, other) => one - other);
}

function print(what: string, sorted: number[]): void {
  const at = (part: number): string => (sorted[Math.round(part * (sorted.length - 1))] ?? 0).toFixed(0);
  console.log(`${what.padEnd(44)} median ${at(0.5).padStart(5)}   least ${at(0).padStart(5)}   most ${at(1).padStart(5)}`);
}
