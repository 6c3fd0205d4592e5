/** A real machine in the page: what Python says there is what the command line says, and no file leaves the page. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { type Watched, assertFit, openLab, startBrowser, withDiagnosis } from "./start.ts";

const ROOT = join(import.meta.dirname, "../../..");
const LANEWISE = join(ROOT, ".venv/bin/lanewise");
const GPU_SERVER = join(ROOT, "examples/gpu-server.txt");
const DUMPS = join(ROOT, "tests/python/machine/dumps");
const CORPUS = process.env["LANEWISE_CORPUS"] ?? join(ROOT, "../shared/corpus");

/** Lets a test have Python asked for something that it does not know. */
const ODD_QUESTION = `const send = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (message, ...rest) {
    window.diagnosing = message?.kind ? this : window.diagnosing;
    if (message?.verb === "doctor" && window.isOdd) message = { ...message, verb: "nothing of the kind" };
    return send.call(this, message, ...rest);
  };`;

let browser: Browser;
/** One page for most of the tests: Python takes seconds to start. */
let lab: Watched;
let page: Page;
let address: string;
const folder = mkdtempSync(join(tmpdir(), "lanewise-diagnose-"));

before(async () => {
  address = withDiagnosis();
  browser = await startBrowser();
  lab = await openLab(browser, address, ODD_QUESTION);
  page = lab.page;
  await page.locator("#fingerprint").waitFor();
  await page.getByRole("tab", { name: "Diagnose" }).click();
});
after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

/** A file of the tests' own. */
function written(name: string, content: string | Buffer): string {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
}

/** What the command line prints for files, as they lie in one folder. */
function native(verb: string, files: string[], ...options: string[]): string {
  const here = files.map((each) => basename(written(basename(each), readFileSync(each))));
  const given = [here[0] ?? "", ...here.slice(1).flatMap((each) => ["--with", each])];
  const said = spawnSync(LANEWISE, [verb, ...given, ...options], { cwd: folder, encoding: "utf8", maxBuffer: 1e9 });
  return said.stdout || said.stderr;
}

/** Does something that has the page look at a machine, and waits until it is done with that. */
async function looked(on: Page, act: () => Promise<unknown>): Promise<void> {
  const ended = (): number => Number(document.querySelector<HTMLElement>(".diagnose")?.dataset["ended"]);
  const before = await on.evaluate(ended);
  await act();
  const isOver = (was: number): boolean => Number(document.querySelector<HTMLElement>(".diagnose")?.dataset["ended"]) > was;
  await on.waitForFunction(isOver, before, { timeout: 300_000 });
}

const give = (on: Page, ...files: string[]): Promise<void> => looked(on, () => on.locator("#dumps").setInputFiles(files));

/** The three documents that the page has. */
async function saved(on: Page): Promise<Record<"scan" | "doctor" | "predict", Record<string, unknown>>> {
  const [download] = await Promise.all([on.waitForEvent("download"), on.locator("#save-findings").click()]);
  return JSON.parse(readFileSync(await download.path(), "utf8"));
}

/** Sees to it that the page says what the command line says. The dump comes first. */
async function sameAsNative(on: Page, ...files: string[]): Promise<void> {
  assert.deepEqual(await on.locator("#diagnose-failure").allInnerTexts(), []);
  const documents = await saved(on);
  const named = files.map((each) => basename(each)).join(", ");
  assert.deepEqual(documents.scan, JSON.parse(native("scan", files, "--json")), named);
  assert.deepEqual(documents.doctor, JSON.parse(native("doctor", files, "--json")), named);
  assert.deepEqual(documents.predict, JSON.parse(native("predict", files, "--json")), named);
}

test("a machine is read, checked and predicted from a file without a network, as the command line does", async () => {
  await looked(page, () => page.selectOption("#dump", "gpu-server.txt"));
  await sameAsNative(page, GPU_SERVER);
  assert.equal(await page.locator("#understood").innerText(), "Read as lspci text: 48 functions, 24 links, 4 switches.");
  assert.match(await page.locator("#verdict").innerText(), /^1 warning\. \d+ rules looked at 48 functions and 24 links\. 4 notes/);
  const finding = page.locator(".finding").first();
  assert.match(await finding.innerText(), /9b:00\.0 runs on x8 of x16 lanes[^]*Costs 5\d\.\d\d GB\/s[^]*What to do: Reseat/);
  assert.match(await page.locator(".finding").nth(1).innerText(), /Alike at 3 more: 38:00\.0, 98:00\.0, b8:00\.0/);
  assert.match(await page.locator(".predictions[data-bdf='9b:00.0']").innerText(), /host to device\s+29\.22/);
  assert.match(await page.locator("#measured-elsewhere").innerText(), /large copies between a host and a GPU, one way\s+\d+\s+\d+ %\s+\d+ to \d+ %/);
  const tree = await page.locator("#tree svg").evaluate((svg) => svg.querySelector("desc")?.textContent ?? "");
  const drawn = native("draw", [GPU_SERVER], "--out", "tree.svg");
  assert.ok(readFileSync(join(folder, "tree.svg"), "utf8").includes(`<desc>${tree}</desc>`), drawn);
  const ways = ["importScripts", "Worker", "XMLHttpRequest", "WebSocket", "EventSource", "WebTransport", "caches"];
  const left = await Promise.all(page.workers().map((worker) => worker.evaluate((names) => ("loadPyodide" in self ? names.filter((name) => name in self) : null), ways)));
  assert.deepEqual(left.filter((each) => each !== null), [[]], "the worker with Python has no way to a network");
  assert.deepEqual([lab.faults, lab.requests], [[], []]);
});

test("the page does not ask for options of the command line", async () => {
  const guest = join(ROOT, "tests/python/machine/dumps/qemu.vvv");
  await give(page, guest);
  await sameAsNative(page, guest);
  assert.match(await page.locator("#tree").innerHTML(), /4 functions without a link not shown</);
  assert.equal(await page.locator(".machine .why").innerText(), "nothing can be predicted: the devices of a virtual machine have the speed of its host");
});

test("a machine becomes a scenario, which is simulated, and undone", async () => {
  const before = await page.locator(".cm-content").innerText();
  const old = await page.evaluate(() => document.getElementById("fingerprint")?.textContent ?? "");
  await give(page, join(ROOT, "examples/laptop.txt"));
  await sameAsNative(page, join(ROOT, "examples/laptop.txt"));
  assert.match(await page.locator("#verdict").innerText(), /^Nothing is wrong\. .* 2 notes/);
  await page.locator("#as-scenario").click();
  await page.waitForFunction((was) => ![undefined, was].includes(document.getElementById("fingerprint")?.textContent ?? undefined), old);
  const scenario = native("scan", [join(ROOT, "examples/laptop.txt")], "--scenario");
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.locator(".menu summary").click().then(() => page.locator("#save-toml").click()),
  ]);
  assert.equal(readFileSync(await download.path(), "utf8"), scenario);
  assert.equal(download.suggestedFilename(), "laptop.toml");
  const run = spawnSync(LANEWISE, ["run", written("laptop.toml", scenario), "--json"], { encoding: "utf8", maxBuffer: 1e9 });
  assert.equal(await page.locator("#fingerprint").innerText(), (JSON.parse(run.stdout) as { fingerprint: string }).fingerprint);
  await page.locator(".menu summary").click();
  await page.locator("#undo").click();
  await page.waitForFunction((text) => (document.querySelector(".cm-content") as HTMLElement | null)?.innerText === text, before);
  await page.getByRole("tab", { name: "Diagnose" }).click();
  assert.match(await page.locator("#understood").innerText(), /6 functions/, "the machine stays");
});

test("registers, archives and several files of one machine are read as the command line reads them", async () => {
  for (const name of ["qemu.xxxx", "qemu-vfs.sysfs.tar.gz"]) {
    await give(page, join(DUMPS, name));
    await sameAsNative(page, join(DUMPS, name));
  }
  const dropped = readFileSync(join(DUMPS, "qemu.tv"), "utf8");
  await looked(page, () =>
    page.evaluate((text) => {
      const data = new DataTransfer();
      data.items.add(new File([text], "qemu.tv"));
      document.querySelector(".purpose")?.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    }, dropped),
  );
  await sameAsNative(page, join(DUMPS, "qemu.tv"));
  const log = written("dmesg.txt", "[    1.000000] NVRM: Xid (PCI:0000:9b:00): 79, pid=1234, GPU has fallen off the bus.\n");
  await give(page, log, GPU_SERVER);
  await sameAsNative(page, GPU_SERVER, log);
  assert.match(await page.locator("#verdict").innerText(), /^1 error/);
});

const corpus = existsSync(CORPUS) ? ["nccl-xml", "hwloc-xml", "lspci-vvv", "nvidia-smi-topo"] : [];
test("dumps of real machines", { skip: corpus.length === 0 && "they are not here" }, async () => {
  for (const kind of corpus) {
    for (const name of readdirSync(join(CORPUS, kind)).sort().slice(0, 1)) {
      await give(page, join(CORPUS, kind, name));
      await sameAsNative(page, join(CORPUS, kind, name));
    }
  }
});

test("what is no dump is said, and what is there stays", async () => {
  const there = await page.locator("#understood").innerText();
  const tooLong = written("huge.bin", "");
  truncateSync(tooLong, (64 << 20) + 1);
  const refused: [string, RegExp][] = [
    [written("empty.txt", ""), /empty\.txt/],
    [written("picture.png", Buffer.from([0x89, 0x50, 0, 1, 2, 3, 4, 5, 6].concat(Array(500).fill(0)))), /'picture\.png' is binary/],
    [written("letter.txt", "Dear all,\n"), /letter\.txt/],
    [tooLong, /'huge\.bin' is larger than 64 MiB/],
  ];
  for (const [file, said] of refused) {
    await give(page, file);
    assert.match(await page.locator("#diagnose-failure").innerText(), said);
    assert.equal(await page.locator("#understood").innerText(), there);
    if (file === tooLong) continue;
    const message = (await page.locator("#diagnose-failure").innerText()).split(/[;\n]/)[0] ?? "?";
    assert.ok(native("scan", [file]).replaceAll(/\s+/g, " ").includes(message), "the command line says the same");
  }
  // 50 MB into the field: they go round it, and are a file.
  await page.locator(".paste summary").click();
  await looked(page, () =>
    page.evaluate(() => {
      const data = new DataTransfer();
      data.setData("text/plain", "no dump of anything\n".repeat(2_500_000));
      document.getElementById("pasted")?.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    }),
  );
  assert.match(await page.locator("#diagnose-failure").innerText(), /more than 24 MiB of text/);
  assert.equal(await page.locator("#pasted").inputValue(), "");
  assert.equal(await page.locator("#understood").innerText(), there);
  await page.locator("#pasted").fill(readFileSync(join(DUMPS, "qemu.vvv"), "utf8"));
  await looked(page, () => page.locator("#read-pasted").click());
  assert.equal(await page.locator("#machine h2").innerText(), "pasted.txt");
});

test("what goes wrong in Python, and a worker that dies, are said; the next machine is read again", async () => {
  await page.evaluate("isOdd = true");
  await give(page, join(ROOT, "examples/laptop.txt"));
  assert.match(await page.locator("#diagnose-failure").innerText(), /cannot be looked at any further: KeyError: 'nothing of the kind'/);
  assert.match(await page.locator("#understood").innerText(), /6 functions/, "what was read stays");
  await page.evaluate("isOdd = false");
  await looked(page, async () => {
    await page.selectOption("#dump", "gpu-server.txt");
    await page.locator("#understood", { hasText: "48 functions" }).waitFor({ timeout: 300_000 });
    await page.evaluate('diagnosing.terminate(), diagnosing.dispatchEvent(new ErrorEvent("error", { message: "out of memory" }))');
  });
  assert.match(await page.locator("#diagnose-failure").innerText(), /out of memory/);
  assert.match(await page.locator("#understood").innerText(), /48 functions/);
  assert.match(await page.locator(".cm-content").innerText(), /\[host\.server\]/, "the scenario stays");
  await page.selectOption("#dump", "laptop.txt");
  await page.locator("#stop-looking").click();
  await page.locator(".doing").waitFor({ state: "detached" });
  assert.equal(await page.locator("#diagnose-failure").count(), 0, "a stop that was asked for is no fault");
  assert.match(await page.locator("#understood").innerText(), /48 functions/);
  assert.deepEqual(lab.requests, []);
});

test("by keyboard, light and dark, wide and narrow, for a screen reader; the report is a page of its own", async () => {
  await page.getByRole("tab", { name: "Diagnose" }).focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement?.id), "dumps");
  await page.keyboard.press("Tab");
  await looked(page, () => page.keyboard.press("ArrowDown"));
  await page.locator(".finding summary").first().press("Enter");
  assert.ok(await page.locator(".evidence").first().isVisible());
  await assertFit(page);
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#save-report").click()]);
  const report = await browser.newPage();
  await report.goto(`file://${written("report.html", readFileSync(await download.path()))}`);
  assert.match(await report.locator("#verdict").innerText(), /^1 warning/);
  assert.ok(await report.locator(".evidence").first().isVisible());
  assert.deepEqual([lab.faults, lab.requests], [[], []]);
});

test("a file of the lab without diagnosis says how to get one", async () => {
  const plain = await openLab(browser);
  await plain.page.getByRole("tab", { name: "Diagnose" }).click();
  assert.match(await plain.page.locator("#not-in-this-file").innerText(), /lanewise doctor lspci\.txt[^]*--with-diagnosis/);
  assert.equal(await plain.page.locator("#dumps").count(), 0);
  assert.deepEqual([plain.faults, plain.requests], [[], []]);
  await plain.page.context().close();
});
