import * as semver from "semver";
import type { Check } from "./check";

/** Oldest operator that Talos ≥ 1.13 documents and tests. */
const oldestForCdi = "26.3.1";

/** The operator's release runs on this Talos release. */
export const operatorVersion: Check = {
  id: "operator-version",
  source: "gpu-operator#2239, fixed by PR#2244 in v26.3.1; siderolabs/docs v1.13, nvidia-gpu",
  find: ({ spec, plan }) => {
    const version = semver.parse(spec.gpuOperator?.version ?? "");
    if (!version) return [];
    const field = "gpuOperator.version";
    if (version.version === "26.3.0")
      return {
        field,
        problem: "v26.3.0 does not run on Talos",
        why: "it reads the release of the operating system as a number, and Talos' begins with a v: the operator crashes",
        remedy: "take v26.3.1 or newer, e.g. v26.3.3",
      };
    if (plan.era === "legacy" || semver.gte(version, oldestForCdi)) return [];
    return {
      field,
      problem: `v${version.version} is older than v${oldestForCdi}, and Talos ${spec.talosVersion} needs that`,
      why: "older operators look for driver and libraries where Talos ≥ 1.13 does not have them, and their pods wait for ever",
      remedy: `take v${oldestForCdi} or newer, e.g. v26.3.3`,
    };
  },
};
