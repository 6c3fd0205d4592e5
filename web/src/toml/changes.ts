/** What has to be changed in a text so that it becomes another: whole lines, as few as there are, so that marks and cursor stay. */
import type { Edit } from "./edit.ts";

/** Lines in the middle that are compared one with another; of more, all are replaced. */
const MOST_LINES = 2000;

/** Edits in the order of the text, in places of the text before. */
export function changesBetween(before: string, after: string): Edit[] {
  const [old, made] = [lines(before), lines(after)];
  let head = 0;
  while (head < old.length && head < made.length && old[head] === made[head]) head++;
  let tail = 0;
  while (tail < old.length - head && tail < made.length - head && old[old.length - 1 - tail] === made[made.length - 1 - tail]) tail++;
  const [left, right] = [old.slice(head, old.length - tail), made.slice(head, made.length - tail)];
  const start = old.slice(0, head).join("").length;
  if (left.length > MOST_LINES || right.length > MOST_LINES) return [{ from: start, to: start + left.join("").length, insert: right.join("") }];
  return walked(left, right, start);
}

/** Along the longest common subsequence of two lists of lines. */
function walked(left: string[], right: string[], start: number): Edit[] {
  const width = right.length + 1;
  const common = new Uint16Array((left.length + 1) * width);
  const at = (row: number, column: number): number => common[row * width + column] as number;
  for (let row = left.length - 1; row >= 0; row--) {
    for (let column = right.length - 1; column >= 0; column--) {
      common[row * width + column] = left[row] === right[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const edits: Edit[] = [];
  let [row, column, place] = [0, 0, start];
  let open: Edit | null = null;
  while (row < left.length || column < right.length) {
    if (row < left.length && column < right.length && left[row] === right[column]) {
      place += (left[row] as string).length;
      [row, column, open] = [row + 1, column + 1, null];
      continue;
    }
    if (!open) edits.push((open = { from: place, to: place, insert: "" }));
    if (column < right.length && (row >= left.length || at(row, column + 1) >= at(row + 1, column))) {
      open.insert += right[column++] as string;
    } else {
      place += (left[row++] as string).length;
      open.to = place;
    }
  }
  return edits;
}

function lines(text: string): string[] {
  return text.split(/(?<=\n)/);
}
