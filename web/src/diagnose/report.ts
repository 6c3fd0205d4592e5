/** What was found, as files: all three documents as they are, and what the page shows of them, by itself. */
import style from "../style/diagnose.css?raw";
import base from "../style/base.css?raw";
import { save } from "../views/files.tsx";
import type { Looked } from "./state.ts";

/** `scan`, `doctor` and `predict` as `--json` prints them. */
export function saveJson({ scan, doctor, predict, given }: Looked): void {
  save(`${stem(given)}.json`, "application/json", JSON.stringify({ scan, doctor, predict }, null, 1));
}

/** A page that needs nothing else. */
export function saveReport({ scan, given }: Looked): void {
  const report = document.getElementById("report")?.cloneNode(true);
  if (!(report instanceof HTMLElement)) return;
  for (const each of report.querySelectorAll("details")) each.open = true;
  const title = document.createElement("title");
  title.textContent = `Lanewise: ${scan.source}`;
  const heading = document.createElement("h1");
  heading.textContent = scan.hostname ?? scan.source;
  const styles = `${base}\n${style}\nbody { max-width: 70rem; margin: 1rem auto; padding: 0 1rem }`;
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">${title.outerHTML}<style>${styles}</style></head><body><main class="diagnose">${heading.outerHTML}${report.outerHTML}</main></body></html>`;
  save(`${stem(given)}.html`, "text/html", html);
}

function stem(given: Looked["given"]): string {
  return `${(given[0]?.name ?? "machine").replace(/\.\w{1,5}$/, "")}-diagnosis`;
}
