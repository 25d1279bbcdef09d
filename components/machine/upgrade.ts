import * as pulumi from "@pulumi/pulumi";
import type { Secrets } from "../credentials/access";
import { longestRun, mostIntermediateReleases } from "../recipe/effect";
import type { PlannedMachine } from "../recipe/machine/planned-machine";
import { defined } from "../recipe/mapping";
import { formatDuration, parseDuration } from "../recipe/rules/duration";
import { type Configured, omniIdentity } from "./configuration";
import { answerOf, type ProgramUse, runProgram } from "./program-resource";
import { limitsOf, type OmniWaitTask, upgradeResult } from "../program/task";
import { goalOf, upgradeTaskOf } from "./upgrade-task";

/** An upgraded machine. */
export interface Upgraded {
  report: pulumi.Output<MachineReport>;
  /** The resource that upgraded the machine. */
  resource: pulumi.Resource;
  /**
   * Returns when an upgrade left the node cordoned for the machine's smoke test; empty if none has. A function, because
   * each output costs time.
   */
  cordonedAt: () => pulumi.Output<string>;
}

/** Talos release, image and driver that a machine reports. */
export interface MachineReport {
  /** Talos release that the machine runs, e.g. `v1.12.6`. */
  talosVersion: string;
  /** ID of the machine's schematic in the Image Factory: a SHA-256. */
  schematicId: string;
  /** Version of the loaded NVIDIA driver, e.g. `570.211.01`; empty on a machine without a GPU. */
  driverVersion: string;
}

/**
 * Runs the machine program, which gives the machine the wanted image and configuration. For an Omni machine, the
 * program waits until Omni has done this. The program then checks that the driver is loaded. If the machine leaves the
 * stack, the program removes the stack's taints from its node.
 *
 * @param schematicOf registers the machine's schematic and returns its ID; not used for an Omni machine, whose
 *   schematic Omni creates.
 */
export function upgradeMachine(
  name: string,
  machine: PlannedMachine,
  secrets: Secrets,
  { hash, resource: configuration }: Configured,
  schematicOf: () => pulumi.Input<string>,
  opts: pulumi.CustomResourceOptions,
): Upgraded {
  const { reconcileToken, nodeTaints } = machine;
  const programUse =
    machine.configuration === "omni"
      ? waitForOmni(machine, hash)
      : upgrade(machine, hash, schematicOf());
  const deleteVerb = nodeTaints.length > 0 ? { deleteVerb: "untaint" } : {};
  const program = runProgram(
    name,
    { ...programUse, ...deleteVerb, secrets, reconcileToken },
    { ...opts, dependsOn: configuration },
  );
  const report = answerOf(program, (answer): MachineReport => {
    const { talosVersion, schematicId, driverVersion } = upgradeResult.parse(answer);
    return { talosVersion, schematicId, driverVersion: driverVersion ?? "" };
  });
  const cordonedAt = () =>
    answerOf(program, (answer) => upgradeResult.parse(answer).cordonedAt ?? "");
  return { report, resource: program, cordonedAt };
}

type Use = Pick<ProgramUse, "verb" | "task" | "neededCredentials" | "limit">;

/** How to run the program for an owned or adopted machine: the verb `upgrade`. */
function upgrade(
  machine: PlannedMachine,
  hash: pulumi.Input<string>,
  schematicId: pulumi.Input<string>,
): Use {
  const taskOf = (id: string, configurationHash: string): string =>
    JSON.stringify(upgradeTaskOf(machine, id, configurationHash));
  // Known values stay plain values: with a thousand machines, each output costs time.
  const task =
    typeof hash === "string"
      ? pulumi.output(schematicId).apply((id) => taskOf(id, hash))
      : pulumi.all([schematicId, hash]).apply(([id, hashText]) => taskOf(id, hashText));
  // The machine's current release is unknown here, so the limit allows the longest way.
  const limit = beyond(
    longestRun(limitsOf(machine.timeouts), mostIntermediateReleases(machine.talosVersion)),
  );
  return { verb: "upgrade", task, neededCredentials: ["talosconfig", "kubeconfig"], limit };
}

/**
 * How to run the program for an Omni machine: the verb `omni-wait`, which waits for release, extensions, driver and
 * configuration. Omni and Talos cordon and drain the node themselves.
 */
function waitForOmni(machine: PlannedMachine, hash: pulumi.Input<string>): Use {
  const { extensions, sysctls, containerdPart } = machine;
  const { reboot, verify } = machine.timeouts;
  /** Files that show whether the machine's configuration is in effect. */
  const files = Object.fromEntries(
    Object.entries(sysctls).map(([key, value]) => [`/proc/sys/${key.replaceAll(".", "/")}`, value]),
  );
  const task = pulumi.output(hash).apply((hashText) =>
    JSON.stringify({
      ...goalOf(machine, hashText),
      ...omniIdentity(machine),
      extensions,
      files,
      ...defined({ containerdPart }),
      timeouts: { reboot, verify },
    } satisfies Omit<OmniWaitTask, "pollSeconds">),
  );
  return {
    verb: "omni-wait",
    task,
    neededCredentials: ["talosconfig", "kubeconfig", "omniEndpoint", "omniServiceAccountKey"],
    limit: beyond(2 * parseDuration(reboot) + parseDuration(verify)),
  };
}

/**
 * Pulumi's limit for a run that takes at most `longest` milliseconds: ten minutes more. So the program reaches its own
 * limit first, and its message says more than Pulumi's.
 */
const beyond = (longest: number): string => formatDuration(longest + 600_000);
