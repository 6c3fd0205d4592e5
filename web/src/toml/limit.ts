/** How long a scenario may be. The core's own limit of a file, which a test holds against it; the server has the same. */
export const LONGEST_TEXT = 4 << 20;

/** How long a file with all of a page may be, which has several scenarios. */
export const LONGEST_STATE = 2 * LONGEST_TEXT;

/** Whether a text has more bytes than that. */
export function isTooLong(text: string): boolean {
  // Every letter has one byte at least, and three at most for each of its places.
  if (text.length > LONGEST_TEXT) return true;
  return text.length * 3 > LONGEST_TEXT && new TextEncoder().encode(text).length > LONGEST_TEXT;
}
