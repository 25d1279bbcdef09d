import * as semver from "semver";
import { oldestForClaims } from "../chart-notes";
import { type Checks, ofGpuRequests } from "./check";
import { machinesFor, mayClaim, mayMatch } from "./placement";

/** Cards that are had by claims. */
export const claimChecks: Checks = {
  /**
   * The driver for dynamic resource allocation finds what it needs, and gives out whole cards. Source: dra-driver-nvidia-gpu v0.5.0,
   * hack/kubelet-plugin-prestart.sh, pkg/featuregates/featuregates.go; dra-driver-nvidia-gpu#605; kubernetes v1.34, pkg/apis/resource.
   */
  dra: ({ spec, plan }) => {
    if (spec.dra === undefined) return [];
    const version = semver.coerce(spec.kubernetesVersion);
    const { sharing } = plan.spec;
    return [
      plan.era === "legacy" &&
        plan.spec.external === undefined && {
          field: "dra",
          problem: `does not work on Talos ≤ 1.12, and the stack says ${spec.talosVersion}`,
          why: "its init container looks for the driver's library in the usual folders, and waits for ever: the libraries are under /usr/local/glibc/usr/lib there",
          remedy: "take Talos 1.13 or newer, or devicePlugin",
        },
      version !== null &&
        semver.lt(version, `${oldestForClaims}.0`) && {
          field: "kubernetesVersion",
          problem: `is ${spec.kubernetesVersion}, and claims need ${oldestForClaims} or newer`,
          why: "older releases do not serve resource.k8s.io/v1, in which the stack makes its claims",
          remedy: "update Kubernetes first, or take devicePlugin",
        },
      sharing?.mig !== undefined && {
        field: "sharing.mig",
        problem: "is there beside dra",
        why: "the MIG manager, which splits cards, belongs to the GPU Operator, and claims of MIG devices are not built here",
        remedy: "take gpuOperator, or leave mig out",
      },
      (["timeSlicing", "mps"] as const).map(
        (way) =>
          sharing?.[way] !== undefined && {
            field: `sharing.${way}`,
            problem: "is there beside dra",
            why: "sharing a card by claims is an alpha feature of the driver, which is off by itself and not built here",
            remedy: "take devicePlugin for cards that are shared, or leave it out",
          },
      ),
    ];
  },
  /**
   * What a claim wants of a card, some card of the stack may have. Source: dra-driver-nvidia-gpu v0.5.0,
   * cmd/gpu-kubelet-plugin/deviceinfo.go (attributes), partitions.go (capacity).
   */
  claims: ofGpuRequests((request, context) => {
    const { claim, gpus, nodeSelector = {} } = request;
    if (claim === undefined || context.gpuMachines.length === 0) return []; // a component that is used alone has none
    if (context.spec.dra === undefined)
      return {
        field: ".claim",
        problem: "is there without dra",
        why: "a resource of the node is a number: it does not say which card",
        remedy: "leave it out, and choose machines by nodeSelector; or give the cards out by `dra`",
      };
    const there = context.gpuMachines.filter((machine) => mayMatch(machine, nodeSelector));
    if (there.length === 0 || machinesFor(request, context).some((machine) => mayClaim(machine, request) >= gpus))
      return [];
    const cards = new Set(there.flatMap(({ uses }) => uses.map(({ model }) => model)));
    return {
      field: ".claim",
      problem: `wants what no ${gpus === 1 ? "card" : `${gpus} cards of one machine`} of ${there.map(({ name }) => name).join(", ")} ${gpus === 1 ? "has" : "have"} (${[...cards].join(", ")})`,
      why: "no device fits the claim, and the pod stays Pending for ever",
      remedy: "ask for less memory (a card has a little less than its name says), or for another architecture",
    };
  }),
};
