import type { Check } from "./check";

/** GPU Operator, device plugin, or something outside: exactly one of them. */
export const kubernetesMode: Check = {
  id: "kubernetes-mode",
  source: "gpu-operator, assets/state-device-plugin (the operator brings a device plugin of its own)",
  find: ({ plan: { spec } }) => {
    const one = spec.gpuOperator ? "gpuOperator" : "devicePlugin";
    if (spec.external && spec[one])
      return {
        field: "external",
        problem: `is there beside ${one}`,
        why: "one of them would be installed by this stack and the other by somebody else; both would register nvidia.com/gpu and hand out the same cards twice",
        remedy: `leave ${one} out where somebody else installs it, or external where this stack shall`,
      };
    if (spec.gpuOperator && spec.devicePlugin)
      return {
        field: "devicePlugin",
        problem: "is there beside gpuOperator",
        why: "the GPU Operator installs its own device plugin; two plugins would both register nvidia.com/gpu and hand out the same cards twice",
        remedy: "leave one of the two out",
      };
    if (spec.gpuOperator || spec.devicePlugin || spec.external) return [];
    return {
      field: "gpuOperator",
      problem: "is missing, and so are devicePlugin and external",
      why: "nothing would offer the GPUs to Kubernetes",
      remedy:
        "add one of the three, e.g. `gpuOperator: { version: v26.3.3 }`; `external` where Flux, Argo CD or somebody else installs it",
    };
  },
};
