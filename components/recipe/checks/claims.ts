import * as semver from "semver";
import { ownClaim } from "../cluster/claim";
import { type Checks, ofGpuRequests } from "./check";
import { machinesFor, mayClaim, mayMatch } from "./placement";
import { oldestForClaims } from "./release-risks";

/** Cards that are had by claims. */
export const claimChecks = {
  dra: {
    rule: "Talos, Kubernetes and the sharing of cards fit NVIDIA's driver for dynamic resource allocation",
    source:
      "dra-driver-nvidia-gpu v0.5.0, hack/kubelet-plugin-prestart.sh, pkg/featuregates/featuregates.go; dra-driver-nvidia-gpu#605; kubernetes v1.34, pkg/apis/resource",
    ofFiles: true,
    find: ({ spec, plan }) => {
      if (spec.dra === undefined) return [];
      const version = semver.coerce(spec.kubernetesVersion);
      const { sharing } = plan.spec;
      return [
        plan.era === "legacy" &&
          plan.spec.external === undefined && {
            field: "dra",
            problem: `does not work on Talos ≤ 1.12, and the stack says ${spec.talosVersion}`,
            why: "its init container looks for the driver's library in the usual folders, and waits forever: the libraries are under /usr/local/glibc/usr/lib there",
            remedy: "take Talos 1.13 or newer, or devicePlugin",
          },
        spec.kubernetesVersion !== undefined &&
          version !== null &&
          semver.lt(version, `${oldestForClaims}.0`) && {
            field: "kubernetesVersion",
            problem: `is ${spec.kubernetesVersion}, and claims need ${oldestForClaims} or newer`,
            why: "older releases do not serve resource.k8s.io/v1, in which the stack makes its claims",
            remedy: "update Kubernetes first, or take devicePlugin",
          },
        sharing?.mig !== undefined && {
          field: "sharing.mig",
          problem: "is set together with dra",
          why: "the driver offers only existing MIG devices (it creates them only as an alpha feature: DynamicMIG), and on Talos only the GPU Operator's MIG manager creates them, again after each boot",
          remedy: "take gpuOperator, or leave mig out",
        },
        (["timeSlicing", "mps"] as const).map(
          (way) =>
            sharing?.[way] !== undefined && {
              field: `sharing.${way}`,
              problem: "is set together with dra",
              why: "sharing a card by claims is an alpha feature of the driver, which is off by itself",
              remedy:
                "leave it out, and let pods share a card by one ResourceClaim of your own (claim.resourceClaimName), or take devicePlugin",
            },
        ),
      ];
    },
  },
  claims: {
    rule: "Some card of the stack can meet each claim; an existing claim excludes the other fields, and its pods run on one machine",
    source:
      "dra-driver-nvidia-gpu v0.5.0, cmd/gpu-kubelet-plugin/deviceinfo.go (attributes), partitions.go (capacity); kubernetes v1.36.3, pkg/apis/core (PodResourceClaim), pkg/scheduler/framework/plugins/dynamicresources",
    ofFiles: true,
    find: ofGpuRequests((request, context) => {
      const { claim, gpus, machines, nodeSelector = {} } = request;
      const isAlone = context.gpuMachines.length === 0; // a component that is used alone has no machines
      if (claim === undefined) return [];
      if (context.spec.dra === undefined && !isAlone)
        return {
          field: ".claim",
          problem: "is set without dra",
          why: "without dra a pod requests a number of cards and cannot choose among them",
          remedy:
            "leave it out, and choose machines by nodeSelector, or give the cards out by `dra`",
        };
      const own = ownClaim(claim);
      if (own !== undefined)
        return [
          Object.keys(claim).length > 1 && {
            field: ".claim",
            problem: `sets ${Object.keys(claim).join(", ")} together`,
            why: "the pod gets only the claim or template that is named, so the other fields have no effect",
            remedy:
              "keep one name, and write the other conditions into that ResourceClaim or template",
          },
          own.resourceClaimName !== undefined &&
            machines > 1 && {
              field: ".claim",
              problem: `is one ResourceClaim for pods on ${machines} machines`,
              why: "its cards are on one machine, and the pods elsewhere stay Pending forever",
              remedy: "take resourceClaimTemplateName, which gives each pod a claim",
            },
        ];
      const there = context.gpuMachines.filter((machine) => mayMatch(machine, nodeSelector));
      if (
        there.length === 0 ||
        machinesFor(request, context).some((machine) => mayClaim(machine, request) >= gpus)
      )
        return [];
      const models = new Set(there.flatMap(({ uses }) => uses.map(({ model }) => model)));
      const cards = [...models].join(", ");
      const names = there.map(({ name }) => name).join(", ");
      return {
        field: ".claim",
        problem:
          gpus === 1
            ? `no card of ${names} meets it (${cards})`
            : `no ${gpus} cards of one machine of ${names} meet it (${cards})`,
        why: "no device fits the claim, and the pod stays Pending forever",
        remedy:
          "ask for less memory (a card has a little less than its name says), or for another architecture",
      };
    }),
  },
} satisfies Checks;
