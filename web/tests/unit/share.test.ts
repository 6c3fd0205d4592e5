import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { LONGEST, VERSION, fileOf, isStateFile, linkOf, opened, openedFile } from "../../src/state/share.ts";
import { LONGEST_TEXT } from "../../src/toml/limit.ts";

const STATE = { text: "title = \"Eight µs\"\n", name: "rig.toml" };

test("a link holds the state", async () => {
  const link = await linkOf(STATE);
  assert.match(link ?? "", new RegExp(`^#lab=${VERSION}\\.[\\w-]+$`));
  assert.deepEqual(await opened(link ?? ""), { kind: "state", state: STATE });
});

test("an address without one says nothing", async () => {
  assert.deepEqual(await opened(""), { kind: "none" });
  assert.deepEqual(await opened("#links"), { kind: "none" });
});

test("a damaged link says so, wherever the damage is", async () => {
  const link = (await linkOf(STATE)) ?? "";
  const refused = async (hash: string): Promise<string> => {
    const found = await opened(hash);
    return found.kind === "refused" ? found.reason : `not refused: ${hash}`;
  };
  const body = link.length - "#lab=1.".length;
  for (let cut = 1; cut <= body; cut += 7) assert.match(await refused(link.slice(0, -cut)), /damaged.*Nothing was changed/);
  // From behind gzip's header, which has a time and other things that mean nothing here.
  for (let place = link.length - body + 16; place < link.length - 1; place += 3) {
    const other = link[place] === "A" ? "B" : "A";
    assert.match(await refused(link.slice(0, place) + other + link.slice(place + 1)), /damaged/, `at ${place}`);
  }
  assert.match(await refused("#lab=x.abc"), /damaged/);
});

test("a link of a newer lab says so", async () => {
  const link = (await linkOf(STATE)) ?? "";
  const found = await opened(link.replace("#lab=1.", "#lab=2."));
  assert.ok(found.kind === "refused" && found.reason.includes("newer"));
});

test("what is too long for a link is refused before and after", async () => {
  const noise = Array.from({ length: 40_000 }, (_, index) => ((index * 7919 + (index >> 3) * 104_729) % 36).toString(36)).join("");
  const random = Array.from(crypto.getRandomValues(new Uint8Array(20_000)), (byte) => byte.toString(16)).join("");
  assert.equal(await linkOf({ text: random + noise, name: "x" }), null);
  const long = await opened(`#lab=1.${"A".repeat(LONGEST)}`);
  assert.ok(long.kind === "refused" && long.reason.includes("longer"));
});

test("a link that unpacks to a flood is refused", async () => {
  const linkOfLength = (length: number): string => {
    const frame = JSON.stringify({ text: "", name: "x" }).length;
    return `#lab=1.${gzipSync(JSON.stringify({ text: "x".repeat(length - frame), name: "x" })).toString("base64url")}`;
  };
  assert.ok(linkOfLength(LONGEST_TEXT + 1).length < LONGEST, "it is short enough packed");
  assert.equal((await opened(linkOfLength(LONGEST_TEXT + 1))).kind, "refused");
  assert.equal((await opened(linkOfLength(LONGEST_TEXT))).kind, "state");
});

test("no link is made that is not opened again", async () => {
  const frame = JSON.stringify({ text: "", name: "x" }).length;
  const longest = { text: "x".repeat(LONGEST_TEXT - frame), name: "x" };
  assert.deepEqual(await opened((await linkOf(longest)) ?? ""), { kind: "state", state: longest });
  assert.equal(await linkOf({ ...longest, text: `${longest.text}x` }), null);
});

/** The link of version 1 of any object. */
async function linkTo(state: object): Promise<string> {
  return (await linkOf(state as typeof STATE)) ?? "";
}

test("what is chosen in tabs goes with it; what a newer lab adds is left out", async () => {
  const whole = { ...STATE, tab: "compare", tabs: { compare: { text: "a", name: "b" } } };
  assert.deepEqual(await opened(await linkTo(whole)), { kind: "state", state: whole });
  assert.deepEqual(await opened(await linkTo({ ...whole, colour: 7 })), { kind: "state", state: whole });
  for (const wrong of [{ tab: 7 }, { tabs: [] }, { tabs: "x" }, { name: null }]) {
    assert.equal((await opened(await linkTo({ ...whole, ...wrong }))).kind, "refused");
  }
});

test("a file holds the same, of any length, and says what is wrong with it", () => {
  const whole = { ...STATE, text: "#".repeat(4 * LONGEST), tab: "compare", tabs: { compare: { text: "a", name: "b" } } };
  assert.ok(isStateFile(fileOf(whole)) && !isStateFile('[host.server]\npart = "x"\n'));
  assert.deepEqual(openedFile(fileOf(whole)), { kind: "state", state: whole });
  const reason = (text: string): string => {
    const found = openedFile(text);
    return found.kind === "refused" ? found.reason : "not refused";
  };
  assert.match(reason(fileOf(whole).slice(0, -5)), /damaged.*Nothing was changed/);
  assert.match(reason(fileOf(whole).replace(`"lanewise_lab": ${VERSION}`, '"lanewise_lab": 99')), /newer lab.*99/);
  assert.match(reason('{"format": 1}'), /not a state of the lab/);
  assert.match(reason('{"lanewise_lab": 1, "text": 7}'), /something else/);
});
