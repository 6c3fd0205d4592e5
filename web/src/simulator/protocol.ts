/** What goes between the page and its worker. */

/** A call, as `connect` of the loader sends it. */
export interface Call {
  id: number;
  verb: string;
  given: unknown[];
}
