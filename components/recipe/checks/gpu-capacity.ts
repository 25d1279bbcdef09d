import type { Check, CheckContext, Complaint } from "./check";
import { gpuRequests, type GpuRequest } from "../stack/workloads";
import { fitTogether, machinesFor, offers, resourceOf } from "./placement";

/** Most requests that are put into places one by one; of more, only the sums are compared. */
const fewRequests = 200;

/** All that runs at the same time finds its GPUs. */
export const gpuCapacity: Check = {
  id: "gpu-capacity",
  source: "Kubernetes: extended resources are not overcommitted, and a pod gets them from one node",
  find: (context) => {
    if (context.gpuMachines.length === 0) return [];
    const active = gpuRequests(context.spec).filter((request) => request.active);
    return [...new Set(active.map((request) => resourceOf(request, context)))].flatMap((resource) =>
      capacityOf(
        resource,
        active.filter((request) => resourceOf(request, context) === resource),
        context,
      ),
    );
  },
};

function capacityOf(resource: string, requests: GpuRequest[], context: CheckContext): Complaint[] {
  const placed = requests.map((request) => ({ request, machines: machinesFor(request, context) }));
  // A single request that is too large, or fits nowhere, has a check of its own.
  if (placed.some(({ request, machines }) => !machines.some((machine) => offers(machine, resource) >= request.gpus)))
    return [];
  const everywhere = context.gpuMachines.reduce((sum, machine) => sum + offers(machine, resource), 0);
  const wanted = requests.reduce((sum, request) => sum + request.gpus, 0);
  if (wanted > everywhere) return [tooMany(resource, requests, wanted, `the machines have ${everywhere}`)];
  const groups = new Map(placed.map(({ machines }) => [machines.map(({ name }) => name).join(" "), machines]));
  for (const [names, machines] of groups) {
    const own = placed.filter((one) => one.machines.every((machine) => machines.includes(machine)));
    const sum = own.reduce((total, { request }) => total + request.gpus, 0);
    const has = machines.reduce((total, machine) => total + offers(machine, resource), 0);
    const pinned = own.map(({ request }) => request);
    if (sum > has)
      return [tooMany(resource, pinned, sum, `${names.replaceAll(" ", ", ")}, where alone they fit, has ${has}`)];
  }
  const placings = placed.map(({ request, machines }) => ({
    units: request.gpus,
    places: machines.map(({ name }) => name),
  }));
  const capacity = new Map(context.gpuMachines.map((machine) => [machine.name, offers(machine, resource)]));
  return placings.length > fewRequests || fitTogether(placings, capacity)
    ? []
    : [tooMany(resource, requests, wanted, `there is no way to place all of them on the machines`)];
}

function tooMany(resource: string, requests: GpuRequest[], total: number, but: string): Complaint {
  const names = requests.map((request) => request.field.replace(/^workloads\.(pods\.)?/, ""));
  const listed = names.length > 8 ? `${names.slice(0, 8).join(", ")} and ${names.length - 8} more` : names.join(", ");
  return {
    field: "workloads",
    problem: `${listed} request ${total} of ${resource} at the same time, and ${but}`,
    why: "the pod that is scheduled last stays Pending forever; which pod that is can change with every reboot",
    remedy: "set `active: false` where they take turns, or share the cards (sharing.timeSlicing)",
  };
}
