import { isMapping } from "../mapping";

/** Values of a chart. */
export type ChartInput = Record<string, unknown>;

/**
 * Merges a user's values over ours: mappings by key, `env` lists by name (a user who adds a variable keeps ours), all else
 * as Helm does: the user's takes the place of ours.
 */
export function mergeValues(ours: ChartInput, theirs: ChartInput | undefined): ChartInput {
  const merged: ChartInput = { ...ours };
  for (const [key, value] of Object.entries(theirs ?? {})) {
    const old = merged[key];
    if (isMapping(old) && isMapping(value)) merged[key] = mergeValues(old, value);
    else if (key === "env" && Array.isArray(old) && Array.isArray(value)) merged[key] = mergeByName(old, value);
    else merged[key] = value;
  }
  return merged;
}

function mergeByName(ours: unknown[], theirs: unknown[]): unknown[] {
  const nameOf = (item: unknown): unknown => (isMapping(item) ? item["name"] : undefined);
  const taken = new Set(theirs.map(nameOf));
  return [...ours.filter((item) => !taken.has(nameOf(item))), ...theirs];
}

/** A variable of an `env` list as text; undefined when the list has none of that name. */
export function envOf(list: unknown, name: string): string | undefined {
  const item: unknown = Array.isArray(list)
    ? list.find((entry) => isMapping(entry) && entry["name"] === name)
    : undefined;
  const value = isMapping(item) ? item["value"] : undefined;
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : undefined;
}

/** A chart's repository as a stack names it. A reference of the chart itself is common for OCI: its folder is meant. */
export function repositoryOf(said: string | undefined, chart: string): string | undefined {
  const folder = said?.replace(/\/+$/, "");
  return folder?.startsWith("oci://") && folder.endsWith(`/${chart}`) ? folder.slice(0, -chart.length - 1) : folder;
}
