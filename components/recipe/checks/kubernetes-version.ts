import * as semver from "semver";
import type { Check } from "./check";

/** Kubernetes' release is one that this Talos release runs. */
export const kubernetesVersion: Check = {
  id: "kubernetes-version",
  source: "talos v1.14.0-rc.1, pkg/machinery/compatibility",
  find: ({ spec, release }) => {
    if (spec.kubernetesVersion === undefined) return [];
    const field = "kubernetesVersion";
    const version = semver.parse(spec.kubernetesVersion);
    if (!version || !/^v?\d/.test(spec.kubernetesVersion) || spec.kubernetesVersion !== spec.kubernetesVersion.trim())
      return {
        field,
        problem: `"${spec.kubernetesVersion}" is not a version`,
        why: "the machine configuration names its images",
        remedy: "write one like `v1.35.0`",
      };
    const range = release?.minor.kubernetes;
    if (!range || (version.major === 1 && range.from <= version.minor && version.minor <= range.to)) return [];
    return {
      field,
      problem: `Kubernetes ${version.major}.${version.minor} does not run on Talos 1.${release.minor.minor} (it takes 1.${range.from} to 1.${range.to})`,
      why: "Talos refuses the configuration, or the kubelet it starts is untested there",
      remedy: `take a release from 1.${range.from} to 1.${range.to}`,
    };
  },
};
