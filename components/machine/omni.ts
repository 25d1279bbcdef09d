import * as pulumi from "@pulumi/pulumi";
import { upgradeTimeouts } from "../recipe/effect";
import { customizationPath } from "../recipe/machine/containerd/containerd";
import type { GpuMachineRecipe, MachineInputs } from "./args";
import { type Configured, omniIdentity } from "./configuration";
import { formatDuration, parseDuration } from "../recipe/rules/duration";
import { runProgram } from "./program-resource";
import type { OmniWaitTask } from "./program/task";
import { taintsOf, upgradedBy, type Upgraded } from "./upgrade";

/**
 * Waits until Omni has brought the machine to the wanted release, extensions, driver and configuration: with a machine of
 * Omni's, schematic and upgrade are Omni's. Cordon and drain are its and Talos' own as well.
 *
 * @param given what Omni was given.
 */
export function awaitOmni(
  name: string,
  { node, args, recipe }: MachineInputs,
  given: Configured,
  opts: pulumi.CustomResourceOptions,
): Upgraded {
  const { uuid, cluster } = omniIdentity(node, args);
  const { reboot, verify } = upgradeTimeouts(args.timeouts);
  const task = pulumi.output(given.hash).apply((hash) => {
    const written: Omit<OmniWaitTask, "pollSeconds"> = {
      machine: node,
      address: args.address,
      uuid,
      cluster,
      talosVersion: recipe.talosVersion,
      configurationHash: hash,
      extensions: recipe.extensions ?? [],
      modules: recipe.kernelModules.map((module) => module.name),
      ...(recipe.driverVersion === undefined ? {} : { driverVersion: recipe.driverBranch ?? recipe.driverVersion }),
      extensionServices: recipe.extensionServices.map(({ name: service, state }) => ({ name: service, state })),
      files: filesOf(recipe),
      timeouts: { reboot, verify },
      ...taintsOf(recipe),
    };
    return JSON.stringify(written);
  });
  const { talosconfig, kubeconfig, omniEndpoint: endpoint, omniServiceAccountKey: serviceAccountKey } = args;
  const limit = formatDuration(2 * parseDuration(reboot) + parseDuration(verify) + 600_000);
  const program = runProgram(
    name,
    {
      verb: "omni-wait",
      task,
      talosconfig,
      kubeconfig,
      omni: { endpoint, serviceAccountKey },
      limit,
      lookAgain: args.lookAgain,
    },
    { ...opts, dependsOn: given.by },
  );
  return upgradedBy(program);
}

/** Files of the machine by which its configuration is seen to be in effect. */
function filesOf({ sysctls, containerdPart }: GpuMachineRecipe): Record<string, string> {
  return {
    ...Object.fromEntries(
      Object.entries(sysctls ?? {}).map(([key, value]) => [`/proc/sys/${key.replaceAll(".", "/")}`, value]),
    ),
    ...(containerdPart === undefined ? {} : { [customizationPath]: containerdPart }),
  };
}
