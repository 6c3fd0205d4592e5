/** The licences of what the page is made of: every package that the page uses, and those that these use; and of Python beside it. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const RULE = `\n${"-".repeat(80)}\n\n`;
const WEB = join(import.meta.dirname, "..");

interface Locked {
  version?: string;
  license?: string;
  dev?: boolean;
}

/** All of them as one text. */
export function licences(): string {
  const lock = JSON.parse(readFileSync(join(WEB, "package-lock.json"), "utf8")) as { packages: Record<string, Locked> };
  const used = Object.entries(lock.packages).filter(([path, each]) => path !== "" && !each.dev && existsSync(join(WEB, path)));
  const texts = used.map(([path, each]) => {
    const name = path.replace(/^.*node_modules\//, "");
    return `${name} ${each.version ?? ""} (${each.license ?? "no licence named"})\n\n${licenceIn(join(WEB, path), name)}`;
  });
  return [`The page contains these packages of the npm registry.\n`, ...texts].join(RULE);
}

/** Those of Python, which goes its own way. The package of Pyodide has no file with a licence, so the texts are here. */
export function pythonLicences(): string {
  const { version } = JSON.parse(readFileSync(join(WEB, "node_modules/pyodide/package.json"), "utf8")) as { version: string };
  const text = (name: string): string => readFileSync(join(import.meta.dirname, "licences", name), "utf8");
  const source = `Source code: https://github.com/pyodide/pyodide, tag ${version}; it is unchanged here.`;
  return [
    "Python in the lab is Pyodide.\n",
    `pyodide ${version} (MPL-2.0)\n${source}\n\n${text("pyodide.txt")}`,
    `Python and its standard library, in pyodide ${version} (PSF-2.0)\n${source}\n\n${text("python.txt")}`,
  ].join(RULE);
}

function licenceIn(folder: string, name: string): string {
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  if (!file) throw new Error(`${name} has no file with its licence`);
  return `${readFileSync(join(folder, file), "utf8").trim()}\n`;
}
