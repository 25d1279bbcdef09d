import type { Command } from "@pulumi/command/local";
import * as pulumi from "@pulumi/pulumi";
import type { z } from "zod";
import type { Secrets } from "../credentials/access";
import { longestRun } from "../recipe/effect";
import type { PlannedMachine } from "../recipe/machine/planned-machine";
import { readSchematic } from "../recipe/machine/schematic";
import type { Configured } from "./configuration";
import { formatDuration, parseDuration } from "../recipe/rules/duration";
import { answerOf, runProgram } from "./program-resource";
import { type TaintTask, upgradeResult, type upgradeTask, type UpgradeTask } from "./program/task";

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
  const { configuration, drop, timeouts } = machine;
  const { hash, by } = inputs.configuration;
  const taskOf = (schematicId: string, configurationHash: string): string => {
    const written: z.input<typeof upgradeTask> = {
      machine: machine.name,
      address: machine.address,
      // Of an adopted machine nothing is written, so an upgrade of the package leaves its task as it was.
      ...(configuration === "owned" ? { configuration } : {}),
      role: machine.role,
      talosVersion: machine.talosVersion,
      schematicId,
      installerImage: machine.installerImage,
      ...(machine.ownImage ? { ownImage: true } : {}),
      image: imageOf(machine),
      ...(drop === undefined ? {} : { drop }),
      configurationHash,
      modules: machine.kernelModules.map((module) => module.name),
      ...(machine.driverVersion === undefined ? {} : { driverVersion: machine.driverBranch ?? machine.driverVersion }),
      extensionServices: machine.extensionServices.map(({ name: service, state }) => ({ name: service, state })),
      drain: machine.drain,
      ...(machine.installs ? { installs: true } : {}),
      otherControlPlanes: machine.otherControlPlanes,
      timeouts,
      ...taintsOf(machine),
    };
    return JSON.stringify(written);
  };
  // What is known already is no output: with a thousand machines each of them costs.
  const task =
    typeof hash === "string"
      ? pulumi.output(inputs.schematicId).apply((id) => taskOf(id, hash))
      : pulumi.all([inputs.schematicId, hash]).apply(([id, found]) => taskOf(id, found));
  const program = runProgram(
    name,
    {
      verb: "upgrade",
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

/** Taints of a machine's node, where it has some. */
export function taintsOf({ nodeTaints }: Pick<PlannedMachine, "nodeTaints">): { taints?: TaintTask["taints"] } {
  if (nodeTaints.length === 0) return {};
  return {
    taints: nodeTaints.map(({ key, value, effect }) => ({ key, ...(value === undefined ? {} : { value }), effect })),
  };
}

/** What the machine's image has, as its schematic says. */
export function imageOf({ schematic }: Pick<PlannedMachine, "schematic">): UpgradeTask["image"] {
  const read = readSchematic(schematic);
  if (read === undefined)
    throw new Error(
      `machine.schematic: is not a schematic; it says what the image has; write it as the Image Factory does`,
    );
  const { extensions, kernelArgs, overlay } = read;
  return { extensions, kernelArgs, ...(overlay === undefined ? {} : { overlay }) };
}

/** What a program that brought a machine there has seen on it. */
export function upgradedBy(program: Command): Upgraded {
  const seen = answerOf(program, (answer): MachineReport => {
    const { talosVersion, schematicId, driverVersion } = upgradeResult.parse(answer);
    return { talosVersion, schematicId, driverVersion: driverVersion ?? "" };
  });
  return { seen, by: program };
}

/** Limit of one run: what its phases take at most, and ten minutes beside, so that the program's own, better worded failure comes first. */
function limitOf({ pull, drain, reboot, verify }: UpgradeTask["timeouts"]): string {
  const read = (text: string, field: string): number => parseDuration(text, `timeouts.${field}`);
  const limits = {
    pull: read(pull, "pull"),
    drain: read(drain, "drain"),
    reboot: read(reboot, "reboot"),
    verify: read(verify, "verify"),
  };
  return formatDuration(longestRun(limits) + 600_000);
}
