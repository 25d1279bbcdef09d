import { gpuRequests, type Check } from "./check";
import { workloadResource } from "../facts/sharing";

export const gpuCapacity: Check = {
  id: "gpu-capacity",
  source: "Kubernetes: extended resources are not overcommitted",
  find: ({ spec, gpuMachines, plan }) => {
    if (gpuMachines.length === 0) return [];
    const active = gpuRequests(spec)
      .filter((request) => request.active)
      .map((request) => ({
        ...request,
        resource: workloadResource(spec.sharing, request.migProfile, plan.kubernetes.resourceName),
      }));
    return [...new Set(active.map((request) => request.resource))].flatMap((resource) => {
      const capacity = gpuMachines.reduce((sum, machine) => sum + (machine.recipe.allocatable[resource] ?? 0), 0);
      const requests = active.filter((request) => request.resource === resource);
      const total = requests.reduce((sum, request) => sum + request.gpus, 0);
      // A single request that is too large has a check of its own.
      if (total <= capacity || requests.some((request) => request.gpus > capacity)) return [];
      return [
        {
          field: "workloads",
          problem: `${requests.map((request) => request.field.replace(/^workloads\.(pods\.)?/, "")).join(", ")} request ${total} of ${resource} at the same time, and the machines have ${capacity}`,
          why: "whoever comes last stays Pending for ever, and which one that is changes with every reboot",
          remedy: "set `active: false` where they take turns, or share the cards (sharing.timeSlicing)",
        },
      ];
    });
  },
};
