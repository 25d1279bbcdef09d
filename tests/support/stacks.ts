import * as fs from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";

const folder = path.join(__dirname, "..", "..", "stacks");

/** Names of the stacks of this repository. */
export const stacks = fs
  .readdirSync(folder)
  .flatMap((file) => /^Pulumi\.(.+)\.yaml$/.exec(file)?.[1] ?? [])
  .sort();

/** A stack's configuration as its file has it, by full key. */
function stackFile(stack: string): Record<string, unknown> {
  const text = fs.readFileSync(path.join(folder, `Pulumi.${stack}.yaml`), "utf8");
  return (parse(text) as { config: Record<string, unknown> }).config;
}

/** A stack's configuration as Pulumi hands it to a program: objects and lists as JSON. */
export function stackConfig(stack: string): Record<string, string> {
  const entries = Object.entries(stackFile(stack));
  return Object.fromEntries(
    entries.map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)]),
  );
}

/** A stack's configuration without the project's prefix: what it says of its cluster. */
export function stackSpec(stack: string): Record<string, unknown> {
  const entries = Object.entries(stackFile(stack));
  return Object.fromEntries(entries.map(([key, value]) => [key.replace(/^talos-gpu:/, ""), value]));
}
