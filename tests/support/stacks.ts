import * as fs from "node:fs";
import * as path from "node:path";
import { readStackFile, repository } from "../../stacks/stack-file";

/**
 * Names of the stacks of this repository, sorted: each has a page in docs/stacks. A file in `stacks` without a page is a user's own, and
 * no test asks anything of it.
 */
export const stacks: readonly string[] = fs
  .readdirSync(path.join(repository, "docs/stacks"))
  .filter((file) => file.endsWith(".md") && file !== "README.md")
  .map((file) => path.basename(file, ".md"))
  .sort();

/** A stack's configuration as Pulumi hands it to a program: by full key, objects and lists as JSON. */
export function stackConfig(stack: string): Record<string, string> {
  const entries = Object.entries(readStackFile(stack));
  return Object.fromEntries(
    entries.map(([key, value]) => [
      `talos-gpu:${key}`,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  );
}
