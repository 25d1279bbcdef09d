import * as fs from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";
import type { ClusterSpec, MachineSpec } from "../../components/recipe";
import { isMapping } from "../../components/recipe/mapping";
import { only } from "../support/table";

/** Folder of the fixtures. */
const fixtures = path.join(__dirname, "..", "fixtures");

/** A stack that is right, from tests/fixtures/valid. */
export function validStack(name: string): ClusterSpec {
  return parse(
    fs.readFileSync(path.join(fixtures, "valid", `${name}.yaml`), "utf8"),
  ) as ClusterSpec;
}

/** Names of the stacks that are right. */
export function validStacks(): string[] {
  return fs.readdirSync(path.join(fixtures, "valid")).map((file) => path.basename(file, ".yaml"));
}

/** A stack that is right but for one change. */
export interface ChangedStack {
  name: string;
  /** The stack that is right. */
  base: string;
  stack: unknown;
  /** Parts of what is said of the change, by check and field. */
  expect: Record<string, string[]>;
}

/** Rows of a table of machine configuration patches, in tests/fixtures/patches. */
export const patchRows = <Row>(table: string): Row[] =>
  parse(fs.readFileSync(path.join(fixtures, "patches", `${table}.yaml`), "utf8")) as Row[];

/** Rows of a table: a stack of tests/fixtures/valid, with its change. */
const changedStacks = (file: string): ChangedStack[] =>
  (
    parse(fs.readFileSync(path.join(fixtures, file), "utf8"), { merge: true }) as Record<
      string,
      any
    >[]
  )
    .map((row) => only(row, ["name", "base", "change", "expect"]))
    .map(({ name, base, change, expect }) => ({
      name,
      base,
      stack: merged(validStack(base), change),
      expect,
    }));

/** Stacks with a mistake. */
export const invalidStacks = (): ChangedStack[] =>
  fs
    .readdirSync(path.join(fixtures, "invalid"))
    .flatMap((file) => changedStacks(`invalid/${file}`));

/** Stacks that look wrong, and are right. */
export const acceptedStacks = (): ChangedStack[] => changedStacks("accepted.yaml");

/** A JSON merge patch (RFC 7396): null takes a key away, a list takes the place of a list. */
export function merged(target: unknown, change: unknown): unknown {
  if (!isMapping(change)) return change;
  const result: Record<string, unknown> = isMapping(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(change)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}

/** A stack of one adopted worker. */
export function oneMachine(
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
