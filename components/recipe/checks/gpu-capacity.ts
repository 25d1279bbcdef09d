import type { Check, CheckContext, Complaint, Found } from "./check";
import { gpuRequests, type GpuRequest } from "../stack/workloads";
import { machinesFor, offers, resourceOf } from "./placement";

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

function capacityOf(resource: string, requests: GpuRequest[], context: CheckContext): Found {
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
  // A pod gets its GPUs from one node: what is left there may be too little for another.
  for (const least of new Set(requests.map((request) => request.gpus))) {
    const large = requests.filter((request) => request.gpus >= least);
    const places = context.gpuMachines.reduce((sum, machine) => sum + Math.floor(offers(machine, resource) / least), 0);
    const total = large.reduce((sum, request) => sum + request.gpus, 0);
    if (large.length > places)
      return [tooMany(resource, large, total, `the machines have place for ${places} pods of ${least} or more each`)];
  }
  return [];
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
