import type { Check } from "./check";

export const pluginNamespace: Check = {
  id: "plugin-namespace",
  source:
    "k8s-device-plugin, deployments/helm/nvidia-device-plugin/templates/validation.yml (allowDefaultNamespace); talos, Pod Security",
  find: ({ spec }) =>
    (["gpuOperator", "devicePlugin"] as const)
      .filter((field) => spec[field]?.namespace === "default")
      .map((field) => ({
        field: `${field}.namespace`,
        problem: "is default",
        why: "Talos enforces the baseline profile there, which refuses NVIDIA's pods, and this package does not open a namespace that everybody uses",
        remedy: "leave it out, or take a namespace of its own",
      })),
};
