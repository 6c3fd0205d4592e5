/** Completion and hover text of the editor: from the schema, the catalog and what was resolved. */
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { type EditorView, type Tooltip, hoverTooltip } from "@codemirror/view";
import { effect } from "@preact/signals";
import { explained, parts, schema, written } from "../state/store.ts";
import { type Cursor, cursorAt } from "../toml/cursor.ts";
import { pathOf } from "../toml/place.ts";
import { tableAt } from "../toml/plain.ts";
import { carriersNamedBy } from "../toml/references.ts";
import { isNamed, meaningOf, sections } from "../toml/schema.ts";

/** What may stand at the cursor. Asked for before the schema is here, the list comes as soon as it is. */
export function completions(context: CompletionContext): CompletionResult | null | Promise<CompletionResult | null> {
  if (schema.value) return listed(context);
  return context.explicit ? schemaOrAbort(context).then(() => (context.aborted ? null : listed(context))) : null;
}

function schemaOrAbort(context: CompletionContext): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  context.addEventListener("abort", resolve);
  const stop = effect(() => {
    if (schema.value) resolve();
  });
  return promise.finally(stop);
}

function listed(context: CompletionContext): CompletionResult | null {
  const cursor = cursorAt(context.state.doc.toString(), context.pos);
  if (cursor.part === "comment" || (!context.explicit && cursor.word === "" && cursor.part !== "value")) return null;
  const options = cursor.part === "heading" ? headings() : cursor.part === "key" ? keys(cursor) : values(cursor);
  return options.length === 0 ? null : { from: cursor.from, options, validFor: /^[\w.\-]*$/ };
}

function headings(): Completion[] {
  const all = schema.value ? sections(schema.value) : [];
  return all
    .filter((section) => section !== "title")
    .map((section) => ({
      label: isNamed(section) ? `${section}.` : section,
      info: meaningOf(schema.value ?? {}, isNamed(section) ? [section, "name"] : [section], null)?.description ?? "",
    }));
}

function keys(cursor: Cursor): Completion[] {
  const around = meaningOf(schema.value ?? {}, cursor.table, cursor.kind);
  return (around?.keys ?? []).map((key) => {
    const meaning = meaningOf(schema.value ?? {}, [...cursor.table, key], cursor.kind);
    return { label: key, apply: `${key} = `, info: meaning?.description ?? "", type: "property" };
  });
}

function values(cursor: Cursor): Completion[] {
  const meaning = meaningOf(schema.value ?? {}, [...cursor.table, ...cursor.key], cursor.kind);
  const quoted = (word: string): string => (cursor.isQuoted || meaning?.isBare ? word : `"${word}"`);
  const fit = (label: string, info: string): Completion => ({ label, apply: quoted(label), info });
  const chosen = (meaning?.choices ?? []).map((choice) => fit(choice.value, choice.description || (meaning?.description ?? "")));
  const examples = (meaning?.examples ?? []).map((example) => fit(example, `An example. ${meaning?.description ?? ""}`));
  return [...chosen, ...examples, ...named(cursor).map(([label, info]) => fit(label, info))];
}

/** Names that only this scenario and the catalog have. */
function named(cursor: Cursor): [string, string][] {
  const key = cursor.key.at(-1) ?? "";
  if (key === "part") return parts.value.filter((part) => part.kind === cursor.table[0]).map((part) => [part.name, part.title]);
  const all = explained.value;
  if (!all) return [];
  if (key === "attach") {
    const ports = all.functions.filter((each) => each.kind === "root port" || each.kind === "downstream port");
    const switches = all.functions.filter((each) => each.kind === "upstream port").map((each) => each.name.split(".")[0] ?? "");
    return [...switches.map((name): [string, string] => [`${name}.*`, "The next free ports"]), ...ports.map((port): [string, string] => [port.name, port.kind])];
  }
  const carriers = cursor.table[0] === "workload" ? carriersNamedBy(cursor.kind, key) : null;
  if (carriers === "network") return Object.keys(tableAt(written.value, "network")).map((name): [string, string] => [name, ""]);
  if (carriers === null) return [];
  const devices = all.links.map((link) => link.lower);
  const groups = devices.flatMap((name) => (name.endsWith("[0]") ? [name.replace("[0]", "[*]")] : []));
  return [...groups.map((name): [string, string] => [name, "All of them"]), ...devices.map((name): [string, string] => [name, ""])];
}

/** What a key means, its value in force, and how that is known. */
export const meanings = hoverTooltip((view: EditorView, place: number): Tooltip | null => {
  const line = view.state.doc.lineAt(place);
  const word = wordAt(line.text, place - line.from);
  if (!word || !schema.value) return null;
  const cursor = cursorAt(view.state.doc.toString(), line.from + word.to);
  if (cursor.part !== "key") return null;
  const path = [...cursor.table, cursor.word];
  const meaning = meaningOf(schema.value, path, cursor.kind);
  if (!meaning?.description) return null;
  const create = () => ({ dom: tip(meaning.description, inForce(path)) });
  return { pos: line.from + word.from, end: line.from + word.to, above: true, create };
});

function inForce(path: (string | number)[]): string[] {
  const all = explained.value?.parameters ?? [];
  const name = pathOf(path, written.value, all.map((each) => each.path));
  const found = all.find((each) => each.path === name);
  return found ? [`In force: ${found.value}`, `${found.provenance}: ${found.source}`, found.place] : [];
}

function tip(description: string, lines: string[]): HTMLElement {
  const dom = document.createElement("div");
  dom.className = "tip";
  for (const text of [description, ...lines]) {
    const paragraph = document.createElement("p");
    paragraph.textContent = text;
    dom.append(paragraph);
  }
  return dom;
}

function wordAt(line: string, place: number): { from: number; to: number } | null {
  for (const found of line.matchAll(/[\w-]+/g)) {
    if (found.index <= place && place <= found.index + found[0].length) return { from: found.index, to: found.index + found[0].length };
  }
  return null;
}
