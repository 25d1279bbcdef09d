import { gpuProviderOf } from "../recipe/facts/gpu-provider";
import type { GpuProviderName, Plan } from "../recipe/types";
import type { Observations } from "./observations";

/**
 * Namespace in which the GPU provider's objects were observed, e.g. the operator's Deployment or the device plugin's
 * DaemonSet. Undefined if none of these objects exists.
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

/** The plan. If the stack does not name the release's namespace, the plan gets the observed namespace. */
export function withWhereabouts(plan: Plan, observations: Observations): Plan {
  const { assumesNamespace, mode, release } = plan.kubernetes;
  const namespace = assumesNamespace ? observedNamespaceOf(mode, observations) : undefined;
  if (namespace === undefined) return plan;
  return { ...plan, kubernetes: { ...plan.kubernetes, release: { ...release, namespace } } };
}
