import type { Command } from "@pulumi/command/local";
import * as pulumi from "@pulumi/pulumi";
import type { Secrets } from "../credentials/access";
import { longestRun } from "../recipe/effect";
import type { PlannedMachine } from "../recipe/machine/planned-machine";
import type { Configured } from "./configuration";
import { formatDuration, parseDuration } from "../recipe/rules/duration";
import { answerOf, type ProgramUse, runProgram } from "./program-resource";
import { upgradeResult, type UpgradeTask } from "./program/task";
import { upgradeTaskOf } from "./upgrade-task";

/** A machine that runs what it shall. */
export interface Upgraded {
  seen: pulumi.Output<MachineReport>;
  /** The program that saw it. */
  by: pulumi.Resource;
}

/** What a machine was seen to run. */
export interface MachineReport {
  /** Talos release, e.g. `v1.12.6`. */
  talosVersion: string;
  /** Image Factory schematic: the SHA-256 of its machine. */
  schematicId: string;
  /** Loaded NVIDIA driver, e.g. `570.211.01`; empty on a machine without a GPU. */
  driverVersion: string;
}

/** What an upgrade waits for. */
export interface UpgradeInputs {
  /** ID of the registered schematic. */
  schematicId: pulumi.Input<string>;
  /** The staged configuration. */
  configuration: Configured;
}

/** Brings the machine to the wanted image and configuration with one reboot or none, and sees its driver up. */
export function upgradeMachine(
  name: string,
  machine: PlannedMachine,
  secrets: Secrets,
  inputs: UpgradeInputs,
  opts: pulumi.CustomResourceOptions,
): Upgraded {
  const { timeouts } = machine;
  const { hash, by } = inputs.configuration;
  const taskOf = (schematicId: string, configurationHash: string): string =>
    JSON.stringify(upgradeTaskOf(machine, schematicId, configurationHash));
  // What is known already is no output: with a thousand machines each of them costs.
  const task =
    typeof hash === "string"
      ? pulumi.output(inputs.schematicId).apply((id) => taskOf(id, hash))
      : pulumi.all([inputs.schematicId, hash]).apply(([id, found]) => taskOf(id, found));
  const program = runProgram(
    name,
    {
      verb: "upgrade",
      ...untainted(machine),
      task,
      needs: ["talosconfig", "kubeconfig"],
      secrets,
      limit: limitOf(timeouts),
      reconcileToken: machine.reconcileToken,
    },
    { ...opts, dependsOn: by },
  );
  return upgradedBy(program);
}

/** How the program ends a machine whose node has taints: they are taken off. */
export const untainted = ({ nodeTaints }: PlannedMachine): Pick<ProgramUse, "deleteVerb"> =>
  nodeTaints.length > 0 ? { deleteVerb: "untaint" } : {};

/** What a program that brought a machine there has seen on it. */
export function upgradedBy(program: Command): Upgraded {
  const seen = answerOf(program, (answer): MachineReport => {
    const { talosVersion, schematicId, driverVersion } = upgradeResult.parse(answer);
    return { talosVersion, schematicId, driverVersion: driverVersion ?? "" };
  });
  return { seen, by: program };
}

/** Limit of one run: what its phases take at most, and ten minutes beside, so that the program's own, better worded failure comes first. */
function limitOf(timeouts: UpgradeTask["timeouts"]): string {
  const entries = Object.entries(timeouts).map(([field, text]) => [field, parseDuration(text, `timeouts.${field}`)]);
  return formatDuration(longestRun(Object.fromEntries(entries) as Record<keyof typeof timeouts, number>) + 600_000);
}
