import { GpuCluster, type GpuClusterArgs } from "talos-gpu";
import { record, type Run, type RunOptions } from "./recorder";
import { readStackFile } from "../../stacks/stack-file";
import { kubeconfig, machineSecrets, providerAnswers, talosconfig } from "./talos";

/** Type tokens of the resources that a cluster registers. */
export const resourceTypes = {
  cluster: "talos-gpu:index:GpuCluster",
  machine: "talos-gpu:index:GpuMachine",
  schematic: "talos:imageFactory/schematic:Schematic",
  configuration: "talos:machine/configurationApply:ConfigurationApply",
  program: "command:local:Command",
  node: "kubernetes:core/v1:NodePatch",
  namespace: "kubernetes:core/v1:Namespace",
  claim: "kubernetes:core/v1:PersistentVolumeClaim",
  release: "kubernetes:helm.sh/v3:Release",
  job: "kubernetes:batch/v1:Job",
  deployment: "kubernetes:apps/v1:Deployment",
  group: "kubernetes:leaderworkerset.x-k8s.io/v1:LeaderWorkerSet",
  pod: "kubernetes:core/v1:Pod",
};

/** Credentials of a cluster that does not exist. */
const credentials = { talosconfig, machineSecrets, kubeconfig };

/** Arguments of the cluster of a stack, with some of them replaced. */
export function clusterArgs(stack: string, changes: Record<string, unknown> = {}): GpuClusterArgs {
  return { ...(readStackFile(stack) as unknown as GpuClusterArgs), ...credentials, ...changes };
}

/** Registers a cluster with the recording monitor. Throws the program's error. */
export async function registerCluster(
  args: GpuClusterArgs,
  options: RunOptions = {},
  useCluster: (cluster: GpuCluster) => void = () => {},
): Promise<Run> {
  const run = await tryToRegisterCluster(args, options, useCluster);
  if (run.error !== undefined) throw run.error;
  return run;
}

/** Registers a cluster like `registerCluster`, but returns the program's error as the run's `error`. */
export function tryToRegisterCluster(
  args: GpuClusterArgs,
  options: RunOptions = {},
  useCluster: (cluster: GpuCluster) => void = () => {},
): Promise<Run> {
  return record(() => useCluster(new GpuCluster("lab", args)), { ...providerAnswers, ...options });
}

/** Machines of a larger cluster, by role. */
export function machinesWithRoles(roles: Record<string, string>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(roles).map(([name, role], index) => [
      name,
      {
        address: `192.0.2.${index + 1}`,
        role,
        configuration: "adopted",
        gpus: role === "worker" ? [{ model: "H100 NVL", count: 2 }] : [],
      },
    ]),
  );
}
