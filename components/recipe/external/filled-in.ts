import { isMapping } from "../mapping";

/**
 * Placeholders that a tool fills in before Kubernetes or Talos sees the text, so that the result is unknown here:
 * Flux' variables (fluxcd.io, Kustomization, postBuild), templates of Helm, helmfile and minijinja, and secrets of
 * SOPS, 1Password and Vault.
 */
const places = /\$\{|\{\{|\{%|ENC\[|\b(?:op|vault):\/\/|\bref\+|<path:/;

/** Whether a tool has yet to fill in a part of a text. */
export const isFilledIn = (text: string): boolean => places.test(text);

/** Whether what stands at a path of some values, or above it, has a part that a tool fills in. */
export function isFilledAt(values: unknown, path: string[]): boolean {
  let there: unknown = values;
  for (const step of path) {
    if (typeof there === "string") return isFilledIn(there);
    if (typeof there !== "object" || there === null) return false;
    there = Object.hasOwn(there, step) ? (there as Record<string, unknown>)[step] : undefined;
  }
  return textsIn(there).some(isFilledIn);
}

/** Paths of the texts that a tool fills in; of a list the list's. */
export const filledPaths = (values: Record<string, unknown>): string[] =>
  Object.entries(values).flatMap(([key, value]) => {
    if (isMapping(value)) return filledPaths(value).map((below) => `${key}.${below}`);
    return textsIn(value).some(isFilledIn) ? [key] : [];
  });

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
