import type { Check } from "./check";
import { sharingOf } from "../machine/own-sharing";
import { gpuRequests } from "../stack/workloads";

/** A pod requests one slice of a shared card. */
export const sharingRequests: Check = {
  id: "sharing-requests",
  source: "k8s-device-plugin, README, failRequestsGreaterThanOne",
  find: ({ spec }) => {
    if (!sharingOf(spec)?.refusesSeveral) return [];
    return gpuRequests(spec)
      .filter((request) => request.gpus > 1)
      .map((request) => ({
        field: `${request.field}.gpus`,
        problem: `${request.gpus} slices of shared cards`,
        why: "two slices are no more of a card than one: the kubelet refuses the pod with UnexpectedAdmissionError",
        remedy: spec.sharing?.timeSlicing
          ? "request 1, or set sharing.timeSlicing.failRequestsGreaterThanOne: false"
          : "request 1, or leave failRequestsGreaterThanOne out of your configuration",
      }));
  },
};
