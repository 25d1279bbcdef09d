import type { Check } from "./check";
import { describeTaint, tolerates } from "../machine/taints";
import type { PodToleration } from "../types";
import { valueAt } from "../machine/user-patches";
import { isMapping } from "../mapping";

export const tolerations: Check = {
  id: "tolerations",
  source:
    "gpu-operator and k8s-device-plugin charts: a list in values takes the place of the chart's; k8s-device-plugin#1934",
  find: ({ spec, gpuMachines, plan }) => {
    const lists: [string, unknown][] = [
      ["gpuOperator.values.daemonsets.tolerations", valueAt(spec.gpuOperator?.values, "daemonsets", "tolerations")],
      [
        "gpuOperator.values.node-feature-discovery.worker.tolerations",
        valueAt(spec.gpuOperator?.values, "node-feature-discovery", "worker", "tolerations"),
      ],
      ["devicePlugin.values.tolerations", valueAt(spec.devicePlugin?.values, "tolerations")],
    ];
    const taints = gpuMachines.flatMap((machine) => [
      ...machine.recipe.nodeTaints.map((taint) => ({ machine: machine.name, taint })),
      // Only a control plane that really is tainted is lost; Talos taints it unless allowSchedulingOnControlPlanes says otherwise.
    ]);
    return lists.flatMap(([field, list]) => {
      if (!Array.isArray(list)) return [];
      const entries = list.filter(isMapping) as Partial<PodToleration>[];
      const missing = taints.find(
        ({ taint }) => taint.effect !== "PreferNoSchedule" && !entries.some((entry) => tolerates(entry, taint)),
      );
      if (!missing) return [];
      return [
        {
          field,
          problem: `does not tolerate ${describeTaint(missing.taint)} of ${missing.machine}`,
          why: "the list takes the place of ours, so NVIDIA's pods would not be placed there and the node would offer no GPU",
          remedy: `leave it out (the taints of the stack are tolerated without it: ${plan.kubernetes.tolerations.map((toleration) => toleration.key).join(", ")}), or add the taint`,
        },
      ];
    });
  },
};
