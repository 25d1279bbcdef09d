import * as fs from "node:fs";
import * as path from "node:path";
import { readStackFile, repository } from "../../stacks/stack-file";

/**
 * Names of this repository's stacks, sorted: each has a page in docs/stacks. A file in `stacks` without a page is
 * a user's own, and no test reads it.
 */
export const stacks: readonly string[] = fs
  .readdirSync(path.join(repository, "docs/stacks"))
  .filter((file) => file.endsWith(".md") && file !== "README.md")
  .map((file) => path.basename(file, ".md"))
  .sort();

/** A stack's configuration in the form that Pulumi gives a program: full keys, and objects and lists as JSON. */
export function stackConfig(stack: string): Record<string, string> {
  const entries = Object.entries(readStackFile(stack));
  return Object.fromEntries(
    entries.map(([key, value]) => [
      `talos-gpu:${key}`,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  );
}
