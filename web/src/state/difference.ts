/** What an edit changed, of what was resolved: values only, which a run may take over, or the machine itself. */
import type { Explain, ExplainedParameter } from "lanewise";

export interface NewValue {
  path: string;
  value: string;
}

/** Values that became others; null when links or parameters came or went, so that it is another machine. */
export function changedValues(before: Explain, after: Explain): NewValue[] | null {
  if (JSON.stringify(before.links) !== JSON.stringify(after.links)) return null;
  if (before.parameters.length !== after.parameters.length) return null;
  const values: NewValue[] = [];
  for (const [index, now] of after.parameters.entries()) {
    const was = before.parameters[index];
    if (was?.path !== now.path) return null;
    // What is worked out from others follows by itself.
    if (was.value !== now.value && !isComputed(now)) values.push({ path: now.path, value: now.value });
  }
  return values;
}

function isComputed(parameter: ExplainedParameter): boolean {
  return parameter.place === "computed";
}
