import type { Check, Found } from "./check";
import { gpuRequests } from "../stack/workloads";
import { mayMatch, offers, resourceOf } from "./placement";
import { didYouMean } from "../rules/suggest";

/** Each request fits onto one machine. */
export const gpuRequestsFit: Check = {
  id: "gpu-requests",
  source: "Kubernetes: a pod's extended resources come from one node; k8s-device-plugin, MIG strategy mixed",
  find: (context) => {
    const { spec, gpuMachines } = context;
    if (gpuMachines.length === 0) return [];
    const offered = [...new Set(gpuMachines.flatMap((machine) => Object.keys(machine.recipe.allocatable)))].sort();
    return gpuRequests(spec).flatMap((request): Found => {
      const { field, gpus, migProfile } = request;
      const resource = resourceOf(request, context);
      if (migProfile !== undefined && spec.sharing?.mig?.strategy !== "mixed")
        return {
          field: `${field}.migProfile`,
          problem: `${migProfile}, but the cards are not partitioned with the strategy mixed`,
          why: `only the strategy mixed gives MIG devices resource names of their own; the pod would request ${resource} instead`,
          remedy: "leave it out, or set sharing.mig.strategy to mixed",
        };
      if (migProfile !== undefined && !offered.includes(resource)) {
        const profiles = offered.map((name) => name.replace(/^nvidia\.com\/mig-/, ""));
        return {
          field: `${field}.migProfile`,
          problem: `no machine has MIG devices ${migProfile}`,
          why: "the pod would stay Pending for ever",
          remedy: `${didYouMean(migProfile, profiles)}one of ${profiles.join(", ")}, or another sharing.mig.profile`,
        };
      }
      const fitting = gpuMachines.filter((machine) => mayMatch(machine, request.nodeSelector ?? {}));
      if (fitting.length === 0) return []; // pod-node-selector tells
      const most = fitting.reduce((largest, machine) => Math.max(largest, offers(machine, resource)), 0);
      if (gpus <= most) return [];
      const where =
        fitting.length === gpuMachines.length
          ? "no machine has"
          : `${fitting.map(({ name }) => name).join(", ")}, where nodeSelector sends it, has no`;
      return {
        field: `${field}.gpus`,
        problem: `${gpus} of ${resource}, but ${where} more than ${most}`,
        why: "a pod gets its GPUs from one machine, so this one stays Pending for ever",
        remedy: most === 0 ? "send it to another machine, or request another resource" : `request at most ${most}`,
      };
    });
  },
};
