import type { Check } from "./check";

/** GPU Operator or device plugin: exactly one of them. */
export const kubernetesMode: Check = {
  id: "kubernetes-mode",
  source: "gpu-operator, assets/state-device-plugin (the operator brings a device plugin of its own)",
  find: ({ spec }) => {
    if (spec.gpuOperator && spec.devicePlugin) {
      return [
        {
          field: "devicePlugin",
          problem: "is there beside gpuOperator",
          why: "the GPU Operator installs its own device plugin; two plugins would both register nvidia.com/gpu and hand out the same cards twice",
          remedy: "leave one of the two out",
        },
      ];
    }
    if (spec.gpuOperator || spec.devicePlugin) return [];
    return [
      {
        field: "gpuOperator",
        problem: "is missing, and so is devicePlugin",
        why: "nothing would offer the GPUs to Kubernetes",
        remedy: "add one of the two, e.g. `gpuOperator: { version: v26.3.3 }`",
      },
    ];
  },
};
