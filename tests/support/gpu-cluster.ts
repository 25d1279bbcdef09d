import { GpuCluster, type GpuClusterArgs } from "talos-gpu";
import { record, type Run, type RunOptions } from "./recorder";
import { readStackFile } from "../../stacks/stack-file";
import { kubeconfig, machineSecrets, providers, talosconfig } from "./talos";

/** Type tokens of what a cluster registers. */
export const types = {
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

/** Credentials of a cluster that is not there. */
const credentials = { talosconfig, machineSecrets, kubeconfig };

/** Arguments of a cluster as one of the stacks has them, with changes. */
export function arguments_(stack: string, changes: Record<string, unknown> = {}): GpuClusterArgs {
  return { ...(readStackFile(stack) as unknown as GpuClusterArgs), ...credentials, ...changes };
}

/** Registers a cluster with the recording monitor. Throws what the program threw. */
export async function build(
  args: GpuClusterArgs,
  options: RunOptions = {},
  use: (cluster: GpuCluster) => void = () => {},
): Promise<Run> {
  const run = await attempt(args, options, use);
  if (run.error !== undefined) throw run.error;
  return run;
}

/** As `build`, for a test that looks at what the program threw: it is the run's `error`. */
export function attempt(
  args: GpuClusterArgs,
  options: RunOptions = {},
  use: (cluster: GpuCluster) => void = () => {},
): Promise<Run> {
  return record(() => use(new GpuCluster("lab", args)), { ...providers, ...options });
}

/** Machines of a larger cluster, by role. */
export function machines(roles: Record<string, string>): Record<string, unknown> {
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
