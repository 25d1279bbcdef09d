import type { Check } from "./check";

/** No pod overrides the card that it was given. */
export const visibleDevices: Check = {
  id: "visible-devices",
  source: "Kubernetes, pkg/kubelet/kubelet_pods.go: the pod's environment comes after the device plugin's",
  find: ({ spec }) =>
    Object.entries(spec.workloads?.pods ?? {})
      .filter(([, pod]) => pod.env?.["NVIDIA_VISIBLE_DEVICES"] !== undefined)
      .map(([name]) => ({
        field: `workloads.pods.${name}.env.NVIDIA_VISIBLE_DEVICES`,
        problem: "is set on a pod that requests the resource",
        why: "it overrides the card that the device plugin handed out: the container sees all cards of the machine, or another pod's",
        remedy: "leave it out: the number that the pod requests says how many it gets",
      })),
};
