/** The text of the scenario, in CodeMirror. It and the store hold the same text; a change of one changes the other. */
import { useEffect, useRef } from "preact/hooks";
import { effect } from "@preact/signals";
import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Mistake } from "lanewise";
import { mistakes, text } from "../state/store.ts";
import { setEditor } from "../state/editing.ts";
import { completions, meanings } from "./completion.ts";

const COLOURS = HighlightStyle.define([
  { tag: tags.comment, class: "toml-comment" },
  { tag: tags.string, class: "toml-string" },
  { tag: [tags.number, tags.bool, tags.atom], class: "toml-value" },
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], class: "toml-key" },
  { tag: tags.bracket, class: "toml-heading" },
]);

export function Editor() {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const view = new EditorView({
      parent: place.current as HTMLDivElement,
      state: EditorState.create({
        doc: text.peek(),
        extensions: [
          lineNumbers(),
          history(),
          drawSelection(),
          highlightActiveLine(),
          lintGutter(),
          StreamLanguage.define(toml),
          syntaxHighlighting(COLOURS),
          autocompletion({ override: [completions] }),
          meanings,
          EditorView.contentAttributes.of({ "aria-label": "Scenario, as TOML", tabindex: "0" }),
          // Escape leaves the editor with Tab, for users without a mouse: CodeMirror's own way.
          keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) text.value = update.state.doc.toString();
          }),
        ],
      }),
    });
    setEditor(view);
    const stopText = effect(() => {
      const wanted = text.value;
      const shown = view.state.doc.toString();
      if (wanted !== shown) view.dispatch({ changes: { from: 0, to: shown.length, insert: wanted } });
    });
    const stopMistakes = effect(() => {
      const found = mistakes.value.map((mistake) => diagnosticOf(view.state, mistake));
      view.dispatch(setDiagnostics(view.state, found));
    });
    return () => {
      stopText();
      stopMistakes();
      setEditor(null);
      view.destroy();
    };
  }, []);
  return <div class="editor" ref={place} />;
}

/** The place of a mistake: from its column to the end of the word there, or its whole line. */
function diagnosticOf(state: EditorState, mistake: Mistake): Diagnostic {
  const message = mistake.hint ? `${mistake.message}\nHint: ${mistake.hint}` : mistake.message;
  const line = state.doc.line(Math.min(Math.max(mistake.line ?? 1, 1), state.doc.lines));
  const from = Math.min(line.from + (mistake.column ?? 1) - 1, line.to);
  const rest = state.doc.sliceString(from, line.to);
  const word = /^("[^"]*"?|[^\s=,\]}]+)/.exec(rest)?.[0].length ?? 0;
  return { from, to: from + word, severity: "error", message, source: mistake.code };
}
