import { execFileSync } from "node:child_process";
import * as path from "node:path";
import { accessOf } from "../../components/credentials/access";
import type { Credentials } from "../../components/credentials/credentials";
import { createMachine, type MadeMachine } from "../../components/machine/create-machine";
import type { PlannedMachine } from "../../components/recipe/machine/planned-machine";
import { isSecret } from "../support/graph";
import { record, type RegisteredResource, type Run, type RunOptions } from "../support/recorder";
import { credentials, plannedMachine, SCHEMATIC } from "./gpu-machine-fixture";

/** Answer of the program to the verb upgrade. */
export const upgradeResult = {
  machine: "gpu-1",
  talosVersion: "v1.12.6",
  schematicId: SCHEMATIC,
  driverVersion: "570.211.01",
  bootId: "b",
  rebooted: true,
  phases: [],
};
/** Outputs of the commands that run the program. */
export const commandOutputs: NonNullable<RunOptions["outputs"]> = ({
  type,
  inputs,
}): Record<string, any> => {
  if (type === "command:local:Command")
    return {
      stdout: `${JSON.stringify(inputs["create"].endsWith("upgrade") ? upgradeResult : { hash: "h", added: {}, changed: true })}\n`,
    };
  return {};
};
/** Answer of the Talos provider to every call. */
export const providerAnswer = (): Record<string, any> => ({
  machineConfiguration: "CONFIGURATION-WITH-KEYS",
});
/** Creates the machine in the same way as a cluster that has already registered its schematic. */
export const createPlannedMachine = (
  fields: Partial<PlannedMachine> = {},
  credentialFields: Credentials = {},
): MadeMachine => {
  const access = accessOf({ ...credentials, ...credentialFields });
  return createMachine(
    "gpu-1",
    { ...plannedMachine, ...fields },
    { access, schematicId: SCHEMATIC },
    {},
  );
};

export const recordMachine = (
  fields: Partial<PlannedMachine> = {},
  options: RunOptions = {},
  credentialFields?: Credentials,
): Promise<Run> =>
  record(() => void createPlannedMachine(fields, credentialFields), {
    outputs: commandOutputs,
    call: providerAnswer,
    ...options,
  });

export const resourceNamed = ({ resources }: Run, name: string): RegisteredResource =>
  resources.find((resource) => resource.name === name)!;

/** A copy of a resource's inputs in which each secret is replaced. */
export function withoutSecrets(value: unknown): unknown {
  if (isSecret(value)) return "[secret]";
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (value !== null && typeof value === "object")
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, withoutSecrets(item)]),
    );
  return value;
}

/**
 * Runs a program that fails in an `apply`, in its own process: its unhandled rejection would end the test runner.
 */
export function runFailingProgram(name: string): { error: string; registered: string[] } {
  const file = path.join(__dirname, "failing-program.ts");
  return JSON.parse(
    execFileSync(process.execPath, ["--require", "tsx/cjs", file, name], { encoding: "utf8" }),
  ) as {
    error: string;
    registered: string[];
  };
}
