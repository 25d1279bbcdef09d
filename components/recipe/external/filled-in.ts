import { isMapping } from "../mapping";

/**
 * Pattern of the placeholders that a tool replaces before Kubernetes or Talos gets the text. This package does not know
 * the replaced text. The placeholders are Flux' variables (fluxcd.io, Kustomization, postBuild), templates of Helm,
 * helmfile and minijinja, and secrets of SOPS, 1Password and Vault.
 */
const places = /\$\{|\{\{|\{%|ENC\[|\b(?:op|vault):\/\/|\bref\+|<path:/;

/** Whether a text has a placeholder. */
export const isFilledIn = (text: string): boolean => places.test(text);

/** Whether the text at a path, or a text above or below this path, contains a placeholder. */
export function isFilledAt(values: unknown, path: string[]): boolean {
  let current: unknown = values;
  for (const step of path) {
    if (typeof current === "string") return isFilledIn(current);
    if (typeof current !== "object" || current === null) return false;
    current = Object.hasOwn(current, step) ? (current as Record<string, unknown>)[step] : undefined;
  }
  return textsIn(current).some(isFilledIn);
}

/** Paths of the texts that contain a placeholder. A text in a list is represented by the path of the list. */
export const filledPaths = (values: Record<string, unknown>): string[] =>
  Object.entries(values).flatMap(([key, value]) => {
    if (isMapping(value)) return filledPaths(value).map((subPath) => `${key}.${subPath}`);
    return textsIn(value).some(isFilledIn) ? [key] : [];
  });

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
