import { gpuProviderOf } from "../recipe/facts/gpu-provider";
import type { GpuProviderName, Plan } from "../recipe/types";
import type { Observations } from "./observations";

/**
 * Where the GPU provider was seen: the operator's own objects, else the DaemonSet that has a pod on each machine.
 * Undefined where none of these objects exists.
 */
export function namespaceSeen(mode: GpuProviderName, seen: Observations): string | undefined {
  const objects = [...(seen.deployments ?? []), ...(seen.daemonSets ?? []), ...(seen.pods ?? [])];
  const isOfIt = (name: string): boolean => {
    if (mode === "operator") return /gpu-operator|nvidia-operator-validator/.test(name);
    return (
      gpuProviderOf(mode).offers.pods.test(name) && (mode === "dra" || /nvidia|nvdp/.test(name))
    );
  };
  return objects.find(({ name }) => isOfIt(name))?.namespace;
}

/** The plan with the namespace in which the release was seen, where nothing says which it is in. */
export function withWhereabouts(plan: Plan, seen: Observations): Plan {
  const { assumesNamespace, mode, release } = plan.kubernetes;
  const namespace = assumesNamespace ? namespaceSeen(mode, seen) : undefined;
  if (namespace === undefined) return plan;
  return { ...plan, kubernetes: { ...plan.kubernetes, release: { ...release, namespace } } };
}
