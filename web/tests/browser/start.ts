/**
 * A real browser: one that the environment names, one that is found on the machine, or the Chromium that comes from npm, which needs no
 * other installation and no rights.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { chromium } from "playwright-core";

const ROOT = join(import.meta.dirname, "../../..");
/** What is under test. */
export const FOLDER = process.env["LANEWISE_LAB_OUT"] ?? join(ROOT, "target/lab");
/** As one file. */
export const PAGE = `file://${FOLDER}/lanewise-lab.html`;

const FOUND = ["chromium", "chromium-browser", "google-chrome"].flatMap((name) =>
  (process.env["PATH"] ?? "").split(":").map((folder) => join(folder, name)),
);

/** Not that of who runs the tests, which may be one that browsers do not know. */
const LOCALE = { LANG: "en_US.UTF-8", LC_ALL: "en_US.UTF-8", LANGUAGE: "en_US" };

/** What it would be started with. In one process it would end with its first page; and a page from a file has to do with what browsers allow. */
const NOT_AS_USERS_HAVE_IT = ["--single-process", "--no-zygote", "--disable-web-security", "--disable-site-isolation-trials", "--allow-running-insecure-content"];

/** Where the one from npm is unpacked: not in the folder for temporary files, where another user may have put one. */
const UNPACKED = join(ROOT, "target/browser");

/** Starts it. `LANEWISE_CHROMIUM` names one. */
export async function startBrowser(locale: Record<string, string> = LOCALE): Promise<Browser> {
  const named = process.env["LANEWISE_CHROMIUM"] ?? FOUND.find((path) => existsSync(path));
  const env = { ...process.env, ...locale };
  if (named) return chromium.launch({ executablePath: named, args: ["--no-sandbox"], env });
  const { default: packed } = await import("@sparticuz/chromium");
  packed.setGraphicsMode = false;
  if (!existsSync(UNPACKED)) await unpack();
  const executablePath = join(UNPACKED, "chromium");
  const args = packed.args.filter((each) => !NOT_AS_USERS_HAVE_IT.includes(each));
  try {
    return await chromium.launch({ executablePath, args, env });
  } catch {
    // A machine without the libraries that it needs: it brings them along.
    return await chromium.launch({ executablePath, args, env: { ...env, LD_LIBRARY_PATH: join(UNPACKED, "al2023/lib") } });
  }
}

/** Unpacks it, with the libraries that some machines lack. Several processes may do so at once: the result of the first one stays. */
async function unpack(): Promise<void> {
  const { default: packed, inflate } = await import("@sparticuz/chromium");
  const own = `${UNPACKED}-${process.pid}`;
  mkdirSync(own, { recursive: true });
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = own;
  try {
    await packed.executablePath();
    await inflate(join(ROOT, "web/node_modules/@sparticuz/chromium/bin/al2023.tar.br"));
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
  }
  try {
    renameSync(own, UNPACKED);
  } catch (error) {
    if (!existsSync(UNPACKED)) throw error;
    rmSync(own, { recursive: true });
  }
}

/** As one file with diagnosis: as `lanewise lab --with-diagnosis` writes it, of the page under test. */
export function withDiagnosis(): string {
  const file = join(FOLDER, "lanewise-lab-with-diagnosis.html");
  const write = "import sys, lanewise.lab as lab; from pathlib import Path; lab.folder = lambda: Path(sys.argv[1]); lab.write_page(sys.argv[2], diagnosis=True)";
  execFileSync(join(ROOT, ".venv/bin/python"), ["-c", write, FOLDER, file]);
  return `file://${file}`;
}

/** A page that keeps what went wrong in it, and what it asked the network for. */
export interface Watched {
  page: Page;
  /** Errors and warnings of the console, and exceptions. */
  faults: string[];
  /** Addresses other than the page's own file and what it made itself. */
  requests: string[];
}

/** Opens the lab without a network; a script, if there is one, runs before it. */
export async function openLab(browser: Browser, address = PAGE, script?: string): Promise<Watched> {
  const context = await browser.newContext({ offline: true, viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  const faults: string[] = [];
  const requests: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("request", (request) => {
    const url = request.url();
    const isItself = url === address.split("#")[0];
    if (!url.startsWith("blob:") && !url.startsWith("data:") && !isItself) requests.push(url);
  });
  if (script) await page.addInitScript(script);
  await page.goto(address);
  return { page, faults, requests };
}

/** Whether what the page shows is fit for a screen reader, light and dark, and no wider than the window, wide and narrow. */
export async function assertFit(page: Page): Promise<void> {
  await page.addScriptTag({ path: join(ROOT, "web/node_modules/axe-core/axe.min.js") });
  for (const [width, colorScheme] of [[1280, "light"], [1280, "dark"], [390, "light"], [390, "dark"]] as const) {
    await page.setViewportSize({ width, height: 844 });
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await violations(page), [], `${width} px, ${colorScheme}`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `the page is wider than ${width} px`);
  }
}

/** What axe-core finds, each with where it is. */
function violations(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: { run(): Promise<{ violations: { id: string; nodes: { target: unknown }[] }[] }> } }).axe.run();
    return violations.map((each) => `${each.id}: ${each.nodes.map((node) => String(node.target)).join(", ")}`);
  });
}
