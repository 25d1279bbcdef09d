import * as fs from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";
import type { ClusterSpec, MachineSpec } from "../../components/recipe";
import { isMapping } from "../../components/recipe/mapping";

/** Folder of the fixtures. */
const fixtures = path.join(__dirname, "..", "fixtures");

/** Stacks that were already read: thousands of tests begin with one of them. */
const parsedStacks = new Map<string, ClusterSpec>();

/** A valid stack of tests/fixtures/valid. The caller may change it. */
export function validStack(name: string): ClusterSpec {
  if (!parsedStacks.has(name)) {
    const file = path.join(fixtures, "valid", `${name}.yaml`);
    parsedStacks.set(name, parse(fs.readFileSync(file, "utf8")) as ClusterSpec);
  }
  return structuredClone(parsedStacks.get(name)!);
}

/** Names of the valid stacks. */
export function validStackNames(): string[] {
  return fs.readdirSync(path.join(fixtures, "valid")).map((file) => path.basename(file, ".yaml"));
}

/** A stack of tests/fixtures/valid with a change. */
export interface ChangedStack {
  name: string;
  /** The stack to change, by the name of its file. */
  base: string;
  /** A JSON merge patch: null removes a field, and a list replaces a list. */
  change: string;
}

/** The stack with its change. */
export const changedStack = ({
  base,
  change = "{}",
}: Pick<ChangedStack, "base"> & { change?: string }): unknown =>
  applyMergePatch(validStack(base), parse(change));

/** A JSON merge patch (RFC 7396): null removes a key, and a list replaces a list. */
export function applyMergePatch(target: unknown, change: unknown): unknown {
  if (!isMapping(change)) return change;
  const result: Record<string, unknown> = isMapping(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(change)) {
    if (value === null) delete result[key];
    else result[key] = applyMergePatch(result[key], value);
  }
  return result;
}

/** A stack of one adopted worker. */
export function stackOfOneMachine(
  talosVersion: string,
  machine: Partial<MachineSpec>,
  more: Partial<ClusterSpec> = {},
): ClusterSpec {
  return {
    talosVersion,
    machines: {
      gpu: { address: "10.0.0.1", role: "worker", configuration: "adopted", ...machine },
    },
    gpuOperator: { version: "v26.3.3" },
    ...more,
  };
}
