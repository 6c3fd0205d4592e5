/** Edits of the text that come from elsewhere than the keyboard: through the editor, so that one undo spans all. */
import { redo, redoDepth, undo, undoDepth } from "@codemirror/commands";
import type { ChangeSpec } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { signal } from "@preact/signals";

const view = signal<EditorView | null>(null);

/** Tells of the editor that is on the page. */
export function setEditor(editor: EditorView | null): void {
  view.value = editor;
}

/** The edit that is being made is no letter of several: what follows from it need not wait for the next. */
export const isWhole = { value: false };

/** Makes an edit, which can be undone by itself, and shows where it was. */
export function edit(changes: ChangeSpec): void {
  isWhole.value = true;
  view.value?.dispatch({ changes, userEvent: "input", scrollIntoView: true });
  isWhole.value = false;
}

export function undoEdit(): void {
  if (view.value) undo(view.value);
}

export function redoEdit(): void {
  if (view.value) redo(view.value);
}

/** How many edits can be undone and redone. */
export function depths(): { undo: number; redo: number } {
  return view.value ? { undo: undoDepth(view.value.state), redo: redoDepth(view.value.state) } : { undo: 0, redo: 0 };
}

/** Puts the cursor on a line, counted from 1, and the keyboard into the editor. */
export function goToLine(line: number): void {
  const editor = view.value;
  if (!editor) return;
  const place = editor.state.doc.line(Math.min(Math.max(line, 1), editor.state.doc.lines));
  editor.dispatch({ selection: { anchor: place.from }, scrollIntoView: true });
  editor.focus();
}
