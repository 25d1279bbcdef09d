import * as semver from "semver";
import { oldestForClaims } from "../chart-notes";
import { ownClaim } from "../kubernetes/claim";
import { type Checks, complaint, ofGpuRequests } from "./check";
import { machinesFor, mayClaim, mayMatch } from "./placement";

/** Cards that are had by claims. */
export const claimChecks: Checks = {
  dra: ({ spec, plan }) => {
    if (spec.dra === undefined) return [];
    const version = semver.coerce(spec.kubernetesVersion);
    const { sharing } = plan.spec;
    return [
      plan.era === "legacy" && plan.spec.external === undefined && complaint("dra", "dra/old-talos", { spec }),
      version !== null &&
        semver.lt(version, `${oldestForClaims}.0`) &&
        complaint("kubernetesVersion", "dra/old-kubernetes", { spec, oldestForClaims }),
      sharing?.mig !== undefined && complaint("sharing.mig", "dra/mig"),
      (["timeSlicing", "mps"] as const).map(
        (way) => sharing?.[way] !== undefined && complaint(`sharing.${way}`, "dra/sharing"),
      ),
    ];
  },
  claims: ofGpuRequests((request, context) => {
    const { claim, gpus, machines, nodeSelector = {} } = request;
    const isAlone = context.gpuMachines.length === 0; // a component that is used alone has no machines
    if (claim === undefined) return [];
    if (context.spec.dra === undefined && !isAlone) return complaint(".claim", "claims/without-dra");
    const own = ownClaim(claim);
    if (own !== undefined)
      return [
        Object.keys(claim).length > 1 && complaint(".claim", "claims/own-and-more", { fields: Object.keys(claim) }),
        own.resourceClaimName !== undefined &&
          machines > 1 &&
          complaint(".claim", "claims/own-on-machines", { machines }),
      ];
    const there = context.gpuMachines.filter((machine) => mayMatch(machine, nodeSelector));
    if (there.length === 0 || machinesFor(request, context).some((machine) => mayClaim(machine, request) >= gpus))
      return [];
    const cards = new Set(there.flatMap(({ uses }) => uses.map(({ model }) => model)));
    const things = { gpus, machines: there.map(({ name }) => name), cards: [...cards] };
    return complaint(".claim", gpus === 1 ? "claims/no-card" : "claims/no-cards", things);
  }),
};
