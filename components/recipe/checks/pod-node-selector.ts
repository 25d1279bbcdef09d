import type { Check, CheckedMachine } from "./check";

/** Labels that Kubernetes, Talos, Node Feature Discovery and NVIDIA set themselves. */
const setByOthers =
  /^((.*\.)?kubernetes\.io|(.*\.)?k8s\.io|(.*\.)?nvidia\.com|extensions\.talos\.dev|feature\.node\.kubernetes\.io)\//;

export const podNodeSelector: Check = {
  id: "pod-node-selector",
  source: "Kubernetes: a pod whose node selector fits no node stays Pending",
  find: ({ spec, gpuMachines }) => {
    if (gpuMachines.length === 0) return [];
    return Object.entries(spec.workloads?.pods ?? {}).flatMap(([pod, { nodeSelector }]) => {
      const wrong = unmet(nodeSelector ?? {}, gpuMachines);
      if (!wrong) return [];
      return [
        {
          field: `workloads.pods.${pod}.nodeSelector.${wrong[0]}`,
          problem: `no GPU machine of the stack has ${wrong[0]}=${wrong[1]}`,
          why: "the pod fits no node and stays Pending for ever",
          remedy:
            "leave it out (GPU pods are placed by nvidia.com/gpu.present), or label a machine under machines.<name>.labels",
        },
      ];
    });
  },
};

/** The first label of a selector that no GPU machine will have; undefined when each is had or set by others. */
function unmet(selector: Record<string, string>, gpuMachines: CheckedMachine[]): [string, string] | undefined {
  return Object.entries(selector).find(([key, value]) => {
    if (key === "kubernetes.io/hostname") return !gpuMachines.some((machine) => machine.name === value);
    // The role labels are set by hand: an old one that nobody sets any more is the classic.
    const isForeign = setByOthers.test(key) && !key.startsWith("node-role.kubernetes.io/");
    return (
      !isForeign &&
      !gpuMachines.some(
        (machine) =>
          machine.recipe.nodeLabels[key] === value ||
          (key === "node-role.kubernetes.io/control-plane" && machine.spec.role === "controlplane"),
      )
    );
  });
}
