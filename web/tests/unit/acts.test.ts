/** Acts on every example, judged by the core itself. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { type Lanewise, load } from "../../../crates/wasm/js/lanewise.js";
import { type Act, everyDevice, freePorts, moved, oneMore, withPart } from "../../src/build/acts.ts";
import { without } from "../../src/build/deleting.ts";
import { partsFor } from "../../src/build/parts.ts";
import { rigOf } from "../../src/rig/topology.ts";
import { readToml } from "../../src/toml/edit.ts";
import { FOLDER } from "../browser/start.ts";

const ROOT = join(import.meta.dirname, "../../..");

let core: Lanewise;
before(async () => {
  core = await load(readFileSync(join(FOLDER, "lanewise.wasm")));
});

/** Texts of the page's examples, by name. */
const EXAMPLES = [...readFileSync(join(ROOT, "web/src/example-texts.ts"), "utf8").matchAll(/default as (\w+) \} from "\.\.\/\.\.\/([^?]+)\?raw"/g)].map(
  ([, name, path]) => [name as string, readFileSync(join(ROOT, path as string), "utf8")] as const,
);

const rig = (text: string) => rigOf(core.explain(text), readToml(text) ?? {});
const links = (text: string): string[] => core.explain(text).links.map((link) => `${link.upper} ${link.lower}`);

const nextOf = (name: string): string => name.replace(/\[(\d+)\]$/, (_, index: string) => `[${Number(index) + 1}]`);

/** Why an act cannot be, or the core refuses what it gives; an empty text if neither. */
function refusal(act: Act | string | null | undefined): string {
  if (typeof act === "string") return act;
  return act ? core.check(act.text).errors.map((each) => each.message).join("\n") : "there is no such act";
}

test("every device of every example can be deleted, and its work goes with it", () => {
  assert.ok(EXAMPLES.length >= 19);
  let deleted = 0;
  for (const [name, text] of EXAMPLES) {
    const all = everyDevice(rig(text));
    // Of many alike the first and the last.
    for (const device of all.filter(({ name }) => !/\[\d+\]$/.test(name) || name.endsWith("[0]") || !all.some((each) => each.name === nextOf(name)))) {
      const act = without(text, device.name, rig(text));
      if (device.kind === "host" && rig(text).roots.length === 1) continue;
      // As many targets as devices: there the core has the last word.
      if (/has \d+ |target/.test(refusal(act)) && name === "hgxH100") continue;
      assert.equal(refusal(act), "", `${name}: ${device.name}\n${JSON.stringify(act)}`);
      assert.ok(act && typeof act !== "string");
      deleted++;
      const gone = everyDevice({ ...rig(text), roots: [device] }).length;
      assert.equal(everyDevice(rig(act.text)).length, all.length - gone, `${name}: ${device.name}`);
    }
  }
  assert.ok(deleted > 60, `${deleted} devices`);
});

test("a device that is moved to a free port is there, with all that hung on it, or the core says why not", () => {
  let done = 0;
  for (const [name, text] of EXAMPLES) {
    const all = rig(text);
    const device = everyDevice(all).findLast((each) => each.kind !== "host");
    const port = freePorts(all, null).find((each) => !each.startsWith(`${device?.name}.`));
    if (!device || !port) continue;
    const act = moved(text, device.name, port, all);
    assert.ok(act && typeof act !== "string" && readToml(act.text), name);
    if (refusal(act) !== "") continue;
    done++;
    assert.ok(links(act.text).includes(`${port} ${act.device}`), `${name}: ${port} ${act.device}`);
    assert.equal(links(act.text).length, links(text).length);
  }
  assert.ok(done >= 8, `${done} moves`);
});

test("one more of a device is one link more, where a port is free", () => {
  let done = 0;
  for (const [name, text] of EXAMPLES) {
    const device = everyDevice(rig(text)).findLast((each) => each.kind === "endpoint");
    const act = oneMore(text, device?.name ?? "", rig(text)).find((each) => refusal(each) === "");
    if (!act) continue;
    done++;
    assert.equal(links(act.text).length, links(text).length + 1, name);
  }
  assert.ok(done >= 8, `${done} of them`);
});

test("every part of the catalog can be put somewhere, as the palette does it", () => {
  const parts = partsFor(core.parts().parts, "", "");
  assert.ok(parts.length > 100);
  const home = '[host.server]\npart = "generic-gen5-server"\ncxl = { mem = true }\n[endpoint.hba]\npart = "lsi-sas3801e"\nattach = "server.slot2"\n';
  const places: Record<string, string | null> = { host: null, switch: "server.slot1", endpoint: "server.slot1", storage: "hba", system: "server" };
  for (const part of parts) assert.equal(refusal(withPart(home, part, places[part.kind] ?? null)), "", part.name);
});
