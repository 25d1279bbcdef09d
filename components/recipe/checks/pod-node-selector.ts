import type { Check, CheckedMachine } from "./check";
import { gpuRequests } from "../stack/workloads";
import { mayMatch } from "./placement";

/** A node selector fits a GPU machine. */
export const podNodeSelector: Check = {
  id: "pod-node-selector",
  source: "Kubernetes: a pod whose node selector fits no node stays Pending",
  find: ({ spec, gpuMachines }) => {
    if (gpuMachines.length === 0) return [];
    return gpuRequests(spec).flatMap(({ field, nodeSelector }) => {
      const wrong = unmet(nodeSelector ?? {}, gpuMachines);
      if (!wrong) return [];
      return {
        field: `${field}.nodeSelector.${wrong[0]}`,
        problem: `no GPU machine of the stack has ${wrong[0]}=${wrong[1]}`,
        why: "the pod fits no node and stays Pending for ever",
        remedy:
          "leave it out (GPU pods are placed by nvidia.com/gpu.present), or label a machine under machines.<name>.labels",
      };
    });
  },
};

/** The first label of a selector that no GPU machine has together with those before it; undefined when one may have them all. */
function unmet(selector: Record<string, string>, gpuMachines: CheckedMachine[]): [string, string] | undefined {
  const labels = Object.entries(selector);
  return labels.find((_, index) => {
    const soFar = Object.fromEntries(labels.slice(0, index + 1));
    return !gpuMachines.some((machine) => mayMatch(machine, soFar));
  });
}
