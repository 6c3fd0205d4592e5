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

/** A value of two scenarios. */
export interface OtherValue {
  path: string;
  before: string;
  after: string;
  /** It was worked out from others in both, so it follows from what else is different. */
  follows: boolean;
}

/** All in which two scenarios differ once they are resolved. */
export interface Difference {
  values: OtherValue[];
  /** Components of which only one has settings, by name, with how many. */
  onlyBefore: [string, number][];
  onlyAfter: [string, number][];
  /** Links that came up differently. */
  links: { name: string; before: string; after: string }[];
}

/** What is different between two scenarios: what was chosen first, in the order of the second. */
export function differenceOf(before: Explain, after: Explain): Difference {
  const [was, now] = [before, after].map((each) => new Map(each.parameters.map((one) => [one.path, one]))) as [Values, Values];
  const values = [...now.values()].flatMap((value): OtherValue[] => {
    const other = was.get(value.path);
    if (!other || other.value === value.value) return [];
    return [{ path: value.path, before: other.value, after: value.value, follows: isComputed(value) && isComputed(other) }];
  });
  const modes = new Map(before.links.map((link) => [link.name, modeOf(link)]));
  const links = after.links.flatMap((link) => {
    const mode = modes.get(link.name);
    return mode !== undefined && mode !== modeOf(link) ? [{ name: link.name, before: mode, after: modeOf(link) }] : [];
  });
  return {
    values: [...values.filter((each) => !each.follows), ...values.filter((each) => each.follows)],
    onlyBefore: owners([...was.keys()].filter((path) => !now.has(path))),
    onlyAfter: owners([...now.keys()].filter((path) => !was.has(path))),
    links,
  };
}

type Values = Map<string, ExplainedParameter>;

function modeOf(link: Explain["links"][number]): string {
  return `${link.generation} ${link.width}, MPS ${link.mps_bytes} B`;
}

/** What settings are of, and how many of each: a device, a workload, a port of a switch. */
function owners(paths: string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const path of paths) {
    const words = path.split(".");
    const owner = words.slice(0, words[0] === "workload" ? 2 : ["slots", "ports"].includes(words[1] ?? "") ? 3 : 1).join(".");
    counts.set(owner, (counts.get(owner) ?? 0) + 1);
  }
  return [...counts];
}
