import * as fs from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";
import type { ClusterSpec, MachineSpec } from "../../components/recipe";

/** Folder of the fixtures. */
export const fixtures = path.join(__dirname, "..", "fixtures");

/** A stack that is right, from tests/fixtures/valid. */
export function validStack(name: string): ClusterSpec {
  return parse(fs.readFileSync(path.join(fixtures, "valid", `${name}.yaml`), "utf8")) as ClusterSpec;
}

/** Names of the stacks that are right. */
export function validStacks(): string[] {
  return fs.readdirSync(path.join(fixtures, "valid")).map((file) => path.basename(file, ".yaml"));
}

/** A stack of one adopted worker. */
export function oneMachine(
  talosVersion: string,
  machine: Partial<MachineSpec>,
  more: Partial<ClusterSpec> = {},
): ClusterSpec {
  return {
    talosVersion,
    machines: { gpu: { address: "10.0.0.1", role: "worker", configuration: "adopted", ...machine } },
    gpuOperator: { version: "v26.3.3" },
    ...more,
  };
}
