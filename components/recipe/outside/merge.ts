import { isMapping } from "../mapping";

/** Merges values as Helm does: mappings by key, all else is replaced (helm.sh/docs, values files). */
export function mergeAsHelm(under: Record<string, unknown>, over: Record<string, unknown>): Record<string, unknown> {
  const merged = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const old = merged[key];
    merged[key] = isMapping(old) && isMapping(value) ? mergeAsHelm(old, value) : value;
  }
  return merged;
}
