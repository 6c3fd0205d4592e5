/**
 * A real browser: one that the environment names, one that is found on the machine, or the Chromium that comes from npm, which needs no
 * other installation.
 */
import { existsSync } from "node:fs";
import type { Browser } from "playwright-core";
import { chromium } from "playwright-core";

const FOUND = ["chromium", "chromium-browser", "google-chrome"].flatMap((name) =>
  (process.env["PATH"] ?? "").split(":").map((folder) => `${folder}/${name}`),
);

/** An odd locale is a test of its own. */
const env = { ...process.env, LANG: "en_US.UTF-8", LC_ALL: "en_US.UTF-8", LANGUAGE: "en_US" };

/** Starts it. `LANEWISE_CHROMIUM` names one. */
export async function browser(): Promise<Browser> {
  const named = process.env["LANEWISE_CHROMIUM"] ?? FOUND.find((path) => existsSync(path));
  if (named) return chromium.launch({ executablePath: named, args: ["--no-sandbox", "--lang=en-US"], env });
  const { default: packed } = await import("@sparticuz/chromium");
  packed.setGraphicsMode = false;
  // In one process the browser would end with its first page.
  const args = packed.args.filter((each) => each !== "--single-process" && each !== "--no-zygote");
  return chromium.launch({ executablePath: await packed.executablePath(), args: [...args, "--lang=en-US"], env });
}
