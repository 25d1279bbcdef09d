import { gpuRequests, type Check } from "../check";

export const gpuRequestsFit: Check = {
  id: "gpu-requests",
  source: "Kubernetes: a pod's extended resources come from one node",
  find: ({ spec, gpuMachines, plan }) => {
    if (gpuMachines.length === 0) return [];
    const resource = plan.kubernetes.resourceName;
    const most = Math.max(...gpuMachines.map((machine) => machine.recipe.allocatable[resource] ?? 0));
    return gpuRequests(spec)
      .filter((request) => request.gpus > most)
      .map((request) => ({
        field: `${request.field}.gpus`,
        problem: `${request.gpus} of ${resource}, but no machine has more than ${most}`,
        why: "a pod gets its GPUs from one machine, so this one stays Pending for ever",
        remedy: `request at most ${most}`,
      }));
  },
};
