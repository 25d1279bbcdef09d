import { checkCluster, InvalidStackError, planCluster } from "../recipe";
import type { ClusterSpec } from "../recipe/stack/spec/index";
import type { GpuMachineArgs, GpuMachineRecipe } from "./args";

/**
 * What follows from the arguments of a machine that stands alone: it is planned and checked as a cluster of one.
 *
 * @throws InvalidStackError with everything that is wrong.
 */
export function recipeOf(node: string, args: GpuMachineArgs): GpuMachineRecipe {
  const spec = clusterOfOne(node, args);
  // What offers the GPUs to Kubernetes is no concern of a machine; a stack of the whole cluster must say it.
  const unsaid = spec.gpuOperator === undefined && spec.devicePlugin === undefined;
  const findings = checkCluster(spec).filter(({ field }) => !unsaid || field !== "gpuOperator");
  if (findings.length > 0) throw new InvalidStackError(findings);
  return planCluster(spec).machines[0]!;
}

/** Arguments that are credentials, or that only a resource needs. */
const ofTheResource = [
  "nodeName",
  "otherControlPlanes",
  "schematicId",
  "recipe",
  "maintenance",
  "bootstrap",
  "talosconfig",
  "machineSecrets",
  "kubeconfig",
  "omniEndpoint",
  "omniServiceAccountKey",
] as const;

/** Arguments that a stack says of the cluster; the others it says of the machine. */
const ofTheCluster = [
  "talosVersion",
  "kubernetesVersion",
  "clusterName",
  "clusterEndpoint",
  "driver",
  "gpuOperator",
  "devicePlugin",
  "sharing",
  "upgrade",
  "timeouts",
  "factoryUrl",
] as const;

/** The arguments as a cluster. */
function clusterOfOne(node: string, args: GpuMachineArgs): ClusterSpec {
  const [, said] = split(args, ofTheResource);
  const [cluster, machine] = split(said, ofTheCluster);
  return { ...cluster, machines: { [node]: machine } };
}

/** The properties of these keys, and the others; without those that are undefined. */
function split<T extends object, K extends keyof T>(given: T, keys: readonly K[]): [Pick<T, K>, Omit<T, K>] {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  const isOne = ([key]: [string, unknown]): boolean => (keys as readonly PropertyKey[]).includes(key);
  return [
    Object.fromEntries(entries.filter(isOne)) as Pick<T, K>,
    Object.fromEntries(entries.filter((entry) => !isOne(entry))) as Omit<T, K>,
  ];
}
