/** What went wrong, in words for the reader of the page. */
import type { Mistake } from "lanewise";

/** A thing that a call throws when Lanewise itself knows what is wrong. */
interface Known {
  status: number;
  errors: Mistake[];
}

function isKnown(error: unknown): error is Known {
  return typeof error === "object" && error !== null && "errors" in error && Array.isArray(error.errors);
}

/** The mistakes in the input that an error is about; none if it is about something else. */
export function mistakesOf(error: unknown): Mistake[] | null {
  return isKnown(error) && error.status === 2 ? error.errors : null;
}

/** An error in a sentence or several. */
export function inWords(error: unknown): string {
  if (isKnown(error)) return error.errors.map((each) => each.message).join("\n");
  return error instanceof Error ? error.message : String(error);
}
