/** A real machine in the page: what Python says there is what the command line says, and no file leaves the page. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { FOLDER, type Watched, openLab, startBrowser } from "./start.ts";

const ROOT = join(import.meta.dirname, "../../..");
const WITH_DIAGNOSIS = `file://${FOLDER}/lanewise-lab-with-diagnosis.html`;
const LANEWISE = join(ROOT, ".venv/bin/lanewise");

let browser: Browser;
/** One page for most of the tests: Python takes seconds to start. */
let lab: Watched;
let page: Page;
const folder = mkdtempSync(join(tmpdir(), "lanewise-diagnose-"));

before(async () => {
  browser = await startBrowser();
  lab = await openLab(browser, WITH_DIAGNOSIS);
  page = lab.page;
  await page.locator("#fingerprint").waitFor();
  await page.getByRole("tab", { name: "Diagnose" }).click();
});
after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

/** What the command line prints for files, as they lie in one folder. */
function native(verb: string, files: string[], ...options: string[]): string {
  const [first, ...others] = files.map((each) => basename(each));
  for (const each of files) writeFileSync(join(folder, basename(each)), readFileSync(each));
  const overlays = others.flatMap((each) => ["--with", each]);
  const said = spawnSync(LANEWISE, [verb, first ?? "", ...overlays, ...options], { cwd: folder, encoding: "utf8", maxBuffer: 1e9 });
  return said.stdout || said.stderr;
}

/** Gives files to the page, and waits until it is done with them. */
async function give(on: Page, files: string[]): Promise<void> {
  await on.locator("#dumps").setInputFiles(files);
  await done(on);
}

async function done(on: Page): Promise<void> {
  await on.locator(".doing").waitFor({ state: "attached" }).catch(() => undefined);
  await on.locator(".doing").waitFor({ state: "detached", timeout: 120_000 });
}

/** The three documents that the page has. */
async function saved(on: Page): Promise<Record<"scan" | "doctor" | "predict", Record<string, unknown>>> {
  const [download] = await Promise.all([on.waitForEvent("download"), on.locator("#save-findings").click()]);
  return JSON.parse(readFileSync(await download.path(), "utf8"));
}

/** Sees to it that the page says what the command line says, of files that are one machine. */
async function sameAsNative(on: Page, files: string[]): Promise<void> {
  const documents = await saved(on);
  assert.deepEqual(documents.scan, JSON.parse(native("scan", files, "--json")));
  assert.deepEqual(documents.doctor, JSON.parse(native("doctor", files, "--json")));
  const predicted = native("predict", files, "--json");
  if (predicted.startsWith("{")) assert.deepEqual(documents.predict, JSON.parse(predicted));
  else assert.ok(String(documents.predict["why"]).length > 0, `the command line predicts nothing: ${predicted}`);
}

test("a machine is read, checked and predicted from a file without a network, as the command line does", async () => {
  await page.selectOption("#dump", "gpu-server.txt");
  await done(page);
  await sameAsNative(page, [join(ROOT, "examples/gpu-server.txt")]);
  assert.equal(await page.locator("#understood").innerText(), "Read as lspci text: 48 functions, 24 links, 4 switches.");
  assert.match(await page.locator("#verdict").innerText(), /^1 warning\. 71 rules looked at 48 functions/);
  assert.deepEqual([lab.faults, lab.requests], [[], []]);
});
