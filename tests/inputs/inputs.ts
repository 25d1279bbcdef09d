/**
 * Inputs as a table: a stack of tests/fixtures/valid and a value that takes the place of one of its own. What a real user
 * of Kubernetes, Talos, NVIDIA's parts and Pulumi would write, right and wrong, over all fields.
 */
export interface Inputs {
  base: string;
  /** Path of the field, its keys separated by blanks. */
  at: string;
  /** Each is one input. */
  values: unknown[];
}

/** Wrong inputs, and the check that refuses them. */
export interface WrongInputs extends Inputs {
  check: string;
}

/** The values that are refused at a field of a stack, by the check that refuses them. */
export function refused(base: string, at: string, byCheck: Record<string, unknown[]>): WrongInputs[] {
  return Object.entries(byCheck).map(([check, values]) => ({ base, at, check, values }));
}

/** Texts without blanks, which stand between them: a table of short ones is read at a glance. */
export const words = (...lines: string[]): string[] => lines.flatMap((line) => line.split(" "));

/** A machine of its own for the tables, with what is said of it. */
export function machine(more: Record<string, unknown> = {}): Record<string, unknown> {
  return { address: "10.9.9.9", role: "worker", configuration: "adopted", gpus: [{ model: "RTX 4090" }], ...more };
}

/** A stack with another value at a path; undefined takes the field away. */
export function withValue(stack: unknown, at: string, value: unknown): unknown {
  const copy = structuredClone(stack) as Record<string, any>;
  const keys = at.split(" ");
  const last = keys.pop() ?? "";
  let parent: Record<string, any> = copy;
  for (const key of keys) {
    if (!Object.hasOwn(parent, key)) parent[key] = {};
    parent = parent[key];
  }
  if (value === undefined) Reflect.deleteProperty(parent, last);
  else Object.defineProperty(parent, last, { value, enumerable: true, configurable: true, writable: true });
  return copy;
}
