/** Every lesson holds in the native core: its rig runs, each edit applies, and moves what the lesson says, the way it says. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Results } from "lanewise";
import { LESSONS, type Lesson } from "../../src/lessons/lessons.ts";
import { measured, sentence, wayOf } from "../../src/lessons/measures.ts";
import { editOf } from "../../src/lessons/trying.ts";
import { applied } from "../../src/toml/edit.ts";

const ROOT = join(import.meta.dirname, "../../..");
const HOME = join(ROOT, "web/src/lessons");

let folder: string;
before(() => (folder = mkdtempSync(join(tmpdir(), "lanewise-lessons-"))));
after(() => rmSync(folder, { recursive: true }));

/** What the native core gives; it throws on a text that the core does not accept. */
function run(text: string): Results {
  const file = join(folder, "lesson.toml");
  writeFileSync(file, text);
  return JSON.parse(execFileSync(join(ROOT, ".venv/bin/lanewise"), ["run", file, "--json"], { encoding: "utf8", maxBuffer: 1e9 }));
}

const textOf = (file: string): string => readFileSync(join(HOME, file), "utf8");

test("every lesson holds", async (each) => {
  for (const lesson of LESSONS) await each.test(lesson.title, () => holds(lesson));
});

function holds(lesson: Lesson): void {
  const text = textOf(lesson.file);
  const first = run(text);
  assert.ok(lesson.tries.length >= 2);
  for (const each of lesson.tries) {
    const edit = editOf(text, each);
    const changed = applied(text, edit);
    assert.notEqual(changed, text, `${each.label} changes nothing`);
    const results = run(changed);
    const moved = each.moves.map(([measure]) => [measure, wayOf(measured(measure, first, lesson.wire), measured(measure, results, lesson.wire))]);
    assert.deepEqual(moved, each.moves, each.label);
  }
}

test("the lessons are those of the folder, and name pages that are there", () => {
  assert.deepEqual(LESSONS.map((each) => each.file).sort(), readdirSync(HOME).filter((name) => name.endsWith(".toml")).sort());
  for (const { page } of LESSONS) assert.ok(existsSync(join(ROOT, page)), page);
});

test("a sentence goes the way that the number went", () => {
  assert.equal(sentence("payload", 6.6, 7.17), "Payload of all flows rose from 6.60 GB/s to 7.17 GB/s.");
  assert.equal(sentence("request", 481.8, 285.2), "The mean time of a request fell from 482 ns to 285 ns.");
  assert.equal(sentence("around", 0.157, 0.1571), "The wire's time for headers and framing stayed at 15.7 %.");
  assert.deepEqual([wayOf(0, 0), wayOf(0, 1), wayOf(1, 0)], ["as much", "more", "less"]);
});

test("an edit of a parameter that the rig does not have is refused", () => {
  const [lesson] = LESSONS;
  const wrong = { label: "", value: "1", moves: [], why: "" };
  assert.throws(() => editOf(textOf(lesson?.file ?? ""), { ...wrong, path: "adapter.tags" }), /no adapter.tags/);
  assert.throws(() => editOf(textOf(lesson?.file ?? ""), { ...wrong, path: "nobody.tags" }), /no nobody.tags/);
});
