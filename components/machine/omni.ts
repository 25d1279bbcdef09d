import * as pulumi from "@pulumi/pulumi";
import { defined } from "../recipe/mapping";
import { customizationPath } from "../recipe/machine/containerd/containerd";
import type { Secrets } from "../credentials/access";
import type { PlannedMachine } from "../recipe/machine/planned-machine";
import { type Configured, omniIdentity } from "./configuration";
import { formatDuration, parseDuration } from "../recipe/rules/duration";
import { runProgram } from "./program-resource";
import type { OmniWaitTask } from "./program/task";
import { untainted, upgradedBy, type Upgraded } from "./upgrade";
import { goalOf } from "./upgrade-task";

/**
 * Waits until Omni has brought the machine to the wanted release, extensions, driver and configuration: with a machine of
 * Omni's, schematic and upgrade are Omni's. Cordon and drain are its and Talos' own as well.
 *
 * @param given what Omni was given.
 */
export function waitForOmni(
  name: string,
  machine: PlannedMachine,
  secrets: Secrets,
  given: Configured,
  opts: pulumi.CustomResourceOptions,
): Upgraded {
  const { uuid, cluster } = omniIdentity(machine);
  const { reboot, verify } = machine.timeouts;
  const task = pulumi.output(given.hash).apply((hash) => {
    const written: Omit<OmniWaitTask, "pollSeconds"> = {
      ...goalOf(machine, hash),
      ...{ uuid, cluster, extensions: machine.extensions, files: filesOf(machine), timeouts: { reboot, verify } },
    };
    return JSON.stringify(written);
  });
  const limit = formatDuration(2 * parseDuration(reboot) + parseDuration(verify) + 600_000);
  const program = runProgram(
    name,
    {
      verb: "omni-wait",
      ...untainted(machine),
      task,
      needs: ["talosconfig", "kubeconfig", "omniEndpoint", "omniServiceAccountKey"],
      secrets,
      limit,
      reconcileToken: machine.reconcileToken,
    },
    { ...opts, dependsOn: given.by },
  );
  return upgradedBy(program);
}

/** Files of the machine by which its configuration is seen to be in effect. */
function filesOf({ sysctls, containerdPart }: PlannedMachine): Record<string, string> {
  return {
    ...Object.fromEntries(
      Object.entries(sysctls).map(([key, value]) => [`/proc/sys/${key.replaceAll(".", "/")}`, value]),
    ),
    ...defined({ [customizationPath]: containerdPart }),
  };
}
