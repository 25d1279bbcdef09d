import { execFileSync } from "node:child_process";
import * as path from "node:path";
import { accessOf } from "../../components/credentials/access";
import type { Credentials } from "../../components/credentials/credentials";
import { createMachine, type MadeMachine } from "../../components/machine/create-machine";
import type { PlannedMachine } from "../../components/recipe/machine/planned-machine";
import { isSecret } from "../support/graph";
import { record, type RegisteredResource, type Run, type RunOptions } from "../support/recorder";
import { credentials, planned, SCHEMATIC } from "./gpu-machine-fixture";

export const answer = {
  machine: "gpu-1",
  talosVersion: "v1.12.6",
  schematicId: SCHEMATIC,
  driverVersion: "570.211.01",
  bootId: "b",
  rebooted: true,
  phases: [],
};
export const outputs: NonNullable<RunOptions["outputs"]> = ({
  type,
  inputs,
}): Record<string, any> => {
  if (type === "command:local:Command")
    return {
      stdout: `${JSON.stringify(inputs["create"].endsWith("upgrade") ? answer : { hash: "h", added: {}, changed: true })}\n`,
    };
  return {};
};
export const call = (): Record<string, any> => ({
  machineConfiguration: "CONFIGURATION-WITH-KEYS",
});
/** Makes the machine in the same way as a cluster that has already registered its schematic. */
export const create = (
  more: Partial<PlannedMachine> = {},
  given: Credentials = {},
): MadeMachine => {
  const access = accessOf({ ...credentials, ...given });
  return createMachine("gpu-1", { ...planned, ...more }, { access, schematicId: SCHEMATIC }, {});
};

export const run = (
  more: Partial<PlannedMachine> = {},
  options: RunOptions = {},
  given?: Credentials,
): Promise<Run> => record(() => void create(more, given), { outputs, call, ...options });

export const byName = ({ resources }: Run, name: string): RegisteredResource =>
  resources.find((resource) => resource.name === name)!;

/** A resource's inputs without its secrets. */
export function open(value: unknown): unknown {
  if (isSecret(value)) return "[secret]";
  if (Array.isArray(value)) return value.map(open);
  if (value !== null && typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, open(item)]));
  return value;
}

/**
 * Runs a program that fails in an `apply`, in its own process: its unhandled rejection would end the test runner.
 */
export function failingProgram(name: string): { error: string; registered: string[] } {
  const file = path.join(__dirname, "failing-program.ts");
  return JSON.parse(
    execFileSync(process.execPath, ["--require", "tsx/cjs", file, name], { encoding: "utf8" }),
  ) as {
    error: string;
    registered: string[];
  };
}
