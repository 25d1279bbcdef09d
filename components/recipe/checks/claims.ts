import * as semver from "semver";
import { ownClaim } from "../cluster/claim";
import { type Checks, findPerGpuRequest } from "./check";
import { machinesFor, mayClaim, mayMatch } from "./placement";
import { oldestForClaims } from "./release-risks";

/** Checks of stacks whose pods get their cards by claims. */
export const claimChecks = {
  dra: {
    rule: "With dra, Talos and Kubernetes are new enough for NVIDIA's DRA driver, and the stack sets no sharing",
    source:
      "dra-driver-nvidia-gpu v0.5.0, hack/kubelet-plugin-prestart.sh, pkg/featuregates/featuregates.go; dra-driver-nvidia-gpu#605; kubernetes v1.34, pkg/apis/resource",
    ofFiles: true,
    find: ({ spec, plan }) => {
      if (spec.dra === undefined) return [];
      const version = semver.coerce(spec.kubernetesVersion);
      const { sharing } = plan.spec;
      return [
        plan.injection === "legacy" && plan.spec.external === undefined
          ? {
              field: "dra",
              problem: `does not work on Talos ≤ 1.12, and the stack sets ${spec.talosVersion}`,
              why: "the DRA driver's init container waits forever for NVIDIA's library in the usual folders, but Talos ≤ 1.12 has the library under /usr/local/glibc/usr/lib",
              remedy: "use Talos 1.13 or newer, or replace `dra` by `devicePlugin`",
            }
          : undefined,
        spec.kubernetesVersion !== undefined &&
        version !== null &&
        semver.lt(version, `${oldestForClaims}.0`)
          ? {
              field: "kubernetesVersion",
              problem: `is ${spec.kubernetesVersion}, and claims need ${oldestForClaims} or newer`,
              why: "older releases do not serve the API resource.k8s.io/v1 of the stack's claims",
              remedy: "update Kubernetes first, or replace `dra` by `devicePlugin`",
            }
          : undefined,
        sharing?.mig !== undefined
          ? {
              field: "sharing.mig",
              problem: "is set together with dra",
              why: "the DRA driver offers only existing MIG devices, and on Talos only the GPU Operator's MIG manager creates them after each boot",
              remedy: "use gpuOperator, or leave `mig` out",
            }
          : undefined,
        (["timeSlicing", "mps"] as const).map((method) =>
          sharing?.[method] !== undefined
            ? {
                field: `sharing.${method}`,
                problem: "is set together with dra",
                why: "the DRA driver shares cards only as an alpha feature, which is off by default",
                remedy:
                  "use devicePlugin, or leave this field out and let pods share a card through one ResourceClaim (claim.resourceClaimName)",
              }
            : undefined,
        ),
      ];
    },
  },
  claims: {
    rule: "A stack with claims sets dra, and each claim fits a machine. A claim that names a ResourceClaim or a template sets no other field. Pods on different machines do not use the same ResourceClaim",
    source:
      "dra-driver-nvidia-gpu v0.5.0, cmd/gpu-kubelet-plugin/deviceinfo.go (attributes), partitions.go (capacity); kubernetes v1.36.3, pkg/apis/core (PodResourceClaim), pkg/scheduler/framework/plugins/dynamicresources",
    ofFiles: true,
    find: findPerGpuRequest((request, context) => {
      const { claim, gpus, machines, nodeSelector = {} } = request;
      const hasNoMachines = context.gpuMachines.length === 0; // A workload component without a GpuCluster knows no machines.
      if (claim === undefined) return [];
      if (context.spec.dra === undefined && !hasNoMachines)
        return {
          field: ".claim",
          problem: "is set without dra",
          why: "without dra, a pod requests only a number of cards, and cannot choose certain cards",
          remedy:
            "leave it out and choose machines by nodeSelector, or use `dra` to give cards to pods",
        };
      const namedClaim = ownClaim(claim);
      if (namedClaim !== undefined)
        return [
          Object.keys(claim).length > 1
            ? {
                field: ".claim",
                problem: `sets ${Object.keys(claim).join(", ")} together`,
                why: "the pod uses the named ResourceClaim or template unchanged, so the other fields have no effect",
                remedy:
                  "keep only `resourceClaimName` or only `resourceClaimTemplateName`, and write the other conditions into that ResourceClaim or template",
              }
            : undefined,
          namedClaim.resourceClaimName !== undefined && machines > 1
            ? {
                field: ".claim",
                problem: `names one ResourceClaim for pods on ${machines} machines`,
                why: "the claim's cards are on one machine, and the pods for other machines stay Pending forever",
                remedy: "use resourceClaimTemplateName, which gives each pod its own claim",
              }
            : undefined,
        ];
      const matchingMachines = context.gpuMachines.filter((machine) =>
        mayMatch(machine, nodeSelector),
      );
      if (
        matchingMachines.length === 0 ||
        machinesFor(request, context).some((machine) => mayClaim(machine, request) >= gpus)
      )
        return [];
      const models = new Set(
        matchingMachines.flatMap(({ uses }) => uses.map(({ model }) => model)),
      );
      const cards = [...models].join(", ");
      const names = matchingMachines.map(({ name }) => name).join(", ");
      return {
        field: ".claim",
        problem:
          gpus === 1
            ? `no card of ${names} (${cards}) meets this claim`
            : `none of ${names} (${cards}) has ${gpus} cards that meet this claim`,
        why: "no device fits the claim, and the pod stays Pending forever",
        remedy: `request ${gpus === 1 ? "" : "fewer cards, "}less memory (a card has a little less than its name says), or another architecture`,
      };
    }),
  },
} satisfies Checks;
