import { checkCluster, InvalidStackError, planCluster } from "../recipe";
import type { ClusterSpec, MachineSpec } from "../recipe/spec";
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

/** The arguments as a cluster, without credentials and without what only a resource needs. */
function clusterOfOne(node: string, args: GpuMachineArgs): ClusterSpec {
  const {
    nodeName: _node,
    otherControlPlanes: _others,
    schematicId: _schematic,
    recipe: _recipe,
    maintenance: _maintenance,
    bootstrap: _bootstrap,
    talosconfig: _talosconfig,
    machineSecrets: _secrets,
    kubeconfig: _kubeconfig,
    omniEndpoint: _omniEndpoint,
    omniServiceAccountKey: _omniServiceAccountKey,
    talosVersion,
    kubernetesVersion,
    clusterName,
    clusterEndpoint,
    driver,
    gpuOperator,
    devicePlugin,
    sharing,
    upgrade,
    timeouts,
    factoryUrl,
    without,
    ...machine
  } = args;
  const cluster = {
    kubernetesVersion,
    clusterName,
    clusterEndpoint,
    driver,
    gpuOperator,
    devicePlugin,
    sharing,
    upgrade,
    timeouts,
    factoryUrl,
    without,
  };
  const given = Object.fromEntries(
    Object.entries(cluster).filter(([, value]) => value !== undefined),
  ) as Partial<ClusterSpec>;
  return { ...given, talosVersion, machines: { [node]: machine satisfies MachineSpec } };
}
