import { readStackFile, stackNames } from "../../stacks/stack-file";

/** Names of the stacks of this repository. */
export const stacks = stackNames();

/** A stack's configuration as Pulumi hands it to a program: by full key, objects and lists as JSON. */
export function stackConfig(stack: string): Record<string, string> {
  const entries = Object.entries(readStackFile(stack));
  return Object.fromEntries(
    entries.map(([key, value]) => [`talos-gpu:${key}`, typeof value === "string" ? value : JSON.stringify(value)]),
  );
}
