import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { LONGEST_TEXT, isTooLong } from "../../src/toml/limit.ts";

const ROOT = join(import.meta.dirname, "../../..");
const found = (file: string, words: RegExp): string[] => words.exec(readFileSync(join(ROOT, file), "utf8"))?.slice(1) ?? [];

test("a scenario is as long as the core reads, here and on the server", () => {
  const [kib, times] = found("crates/scenario/src/source.rs", /FILE_SIZE_LIMIT: Bytes = Bytes::from_kib\((\d+) \* (\d+)\)/);
  assert.equal(Number(kib) * Number(times) * 1024, LONGEST_TEXT);
  const [number, shift] = found("python/lanewise/inputs.py", /MOST_SCENARIO_BYTES = (\d+) << (\d+)/);
  assert.equal(Number(number) * 2 ** Number(shift), LONGEST_TEXT);
});

test("bytes count, not letters", () => {
  assert.ok(!isTooLong("x".repeat(LONGEST_TEXT)));
  assert.ok(isTooLong("x".repeat(LONGEST_TEXT + 1)));
  assert.ok(!isTooLong("µ".repeat(LONGEST_TEXT / 2)));
  assert.ok(isTooLong("µ".repeat(LONGEST_TEXT / 2 + 1)));
});

test("every test begins its line: `make test` counts those lines where it has to leave them out", () => {
  for (const folder of ["unit", "browser"]) {
    for (const file of readdirSync(join(ROOT, "web/tests", folder)).filter((each) => each.endsWith(".test.ts"))) {
      const found = /^[ \t]+test\(.*/m.exec(readFileSync(join(ROOT, "web/tests", folder, file), "utf8"));
      assert.equal(found?.[0], undefined, `${file}: one test with others in it instead`);
    }
  }
});
