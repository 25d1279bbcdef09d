import type * as pulumi from "@pulumi/pulumi";
import type { Secrets } from "../credentials/access";
import { AT_A_TIME } from "../clients/clock";
import { runProgram } from "../machine/program-resource";
import type { PullImagesTask } from "../program/task";
import { plannedMachines } from "../recipe/machine/planned-machine";
import { formatDuration, parseDuration } from "../recipe/rules/duration";
import type { Plan } from "../recipe/types";

/**
 * A resource that pulls the images of a new Kubernetes release onto the machines of a cluster that the stack
 * bootstrapped. The provider puts the configuration of such a machine into effect at once, unless the configuration
 * needs a reboot (`configureOwned`). Without this resource, a component of Kubernetes would then be down while its
 * image is pulled. On other machines, the upgrade pulls the images before it puts the staged configuration into effect.
 *
 * @returns undefined if the stack does not bootstrap its cluster.
 */
export function pullKubernetesImages(
  name: string,
  plan: Plan,
  secrets: Secrets,
  opts: pulumi.CustomResourceOptions,
): pulumi.CustomResource | undefined {
  const { bootstrap, kubernetesVersion } = plan.spec;
  if (!bootstrap || kubernetesVersion === undefined) return undefined;
  const machines = plannedMachines(plan).map(({ name: machine, address, role, timeouts }) => ({
    machine,
    address,
    role,
    limit: timeouts.pull,
  }));
  const task = { version: kubernetesVersion, machines } satisfies Omit<
    PullImagesTask,
    "pollSeconds"
  >;
  return runProgram(
    `${name}-images`,
    {
      verb: "pull-images",
      task: JSON.stringify(task),
      neededCredentials: ["talosconfig"],
      secrets,
      limit: longestPull(machines.map(({ limit }) => limit)),
    },
    opts,
  );
}

/** Pulumi's limit: ten minutes more than the program's own limits, whose messages say more. */
function longestPull(limits: readonly string[]): string {
  const rounds = Math.ceil(limits.length / AT_A_TIME);
  const longest = Math.max(...limits.map((limit) => parseDuration(limit)));
  return formatDuration(rounds * longest + 600_000);
}
