import type { Check } from "./check";
import { gpuRequests } from "../stack/workloads";

/** A pod requests one slice of a shared card. */
export const sharingRequests: Check = {
  id: "sharing-requests",
  source: "k8s-device-plugin, README, failRequestsGreaterThanOne",
  find: ({ spec }) => {
    const { timeSlicing } = spec.sharing ?? {};
    if (!timeSlicing || timeSlicing.failRequestsGreaterThanOne === false) return [];
    return gpuRequests(spec)
      .filter((request) => request.gpus > 1)
      .map((request) => ({
        field: `${request.field}.gpus`,
        problem: `${request.gpus} slices of shared cards`,
        why: "two slices are no more of a card than one: the kubelet refuses the pod with UnexpectedAdmissionError",
        remedy: "request 1, or set sharing.timeSlicing.failRequestsGreaterThanOne: false",
      }));
  },
};
