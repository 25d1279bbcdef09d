import { gpuProviderOf } from "../recipe/facts/gpu-provider";
import type { GpuProviderName, Plan } from "../recipe/types";
import type { Observations } from "./observations";

/**
 * Namespace in which the GPU provider was observed: that of the operator's own objects, else of the DaemonSet with a
 * pod on each machine. Undefined if none of these objects exists.
 */
export function observedNamespaceOf(
  mode: GpuProviderName,
  observations: Observations,
): string | undefined {
  const objects = [
    ...(observations.deployments ?? []),
    ...(observations.daemonSets ?? []),
    ...(observations.pods ?? []),
  ];
  const isOfProvider = (name: string): boolean => {
    if (mode === "operator") return /gpu-operator|nvidia-operator-validator/.test(name);
    return (
      gpuProviderOf(mode).offers.pods.test(name) && (mode === "dra" || /nvidia|nvdp/.test(name))
    );
  };
  return objects.find(({ name }) => isOfProvider(name))?.namespace;
}

/** The plan with the observed namespace of the release, if the stack does not name it. */
export function withWhereabouts(plan: Plan, observations: Observations): Plan {
  const { assumesNamespace, mode, release } = plan.kubernetes;
  const namespace = assumesNamespace ? observedNamespaceOf(mode, observations) : undefined;
  if (namespace === undefined) return plan;
  return { ...plan, kubernetes: { ...plan.kubernetes, release: { ...release, namespace } } };
}
