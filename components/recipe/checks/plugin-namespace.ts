import { ownValuesOf } from "../outside/external";
import type { Check } from "./check";

/** Namespaces that every cluster has, and Talos does not exempt from Pod Security. */
const givenToAll = ["default", "kube-public", "kube-node-lease"];

/** NVIDIA's pods get a namespace of their own. */
export const pluginNamespace: Check = {
  id: "plugin-namespace",
  source:
    "k8s-device-plugin, deployments/helm/nvidia-device-plugin/templates/validation.yml (allowDefaultNamespace); talos, Pod Security",
  find: ({ spec, plan }) =>
    (ownValuesOf(plan.spec) ? [] : (["gpuOperator", "devicePlugin"] as const)) // somebody else opened it
      .filter((field) => givenToAll.includes(spec[field]?.namespace ?? ""))
      .map((field) => ({
        field: `${field}.namespace`,
        problem: `is ${spec[field]?.namespace}`,
        why: "Talos enforces the baseline profile there, which refuses NVIDIA's pods, and this package does not open a namespace that everybody uses",
        remedy: "leave it out, or take a namespace of its own",
      })),
};
