import * as semver from "semver";
import type { Check } from "./check";

/**
 * The oldest release of each chart that runs here. Up to v24.3.0 the operator's plugin takes the driver below /run/nvidia/driver,
 * unless a file says otherwise that v24.6.0 no longer has (assets/state-device-plugin/0400_configmap.yaml), and hands out devices
 * below it, which Talos has not; the plugin's first one with a value for the RuntimeClass, which Talos needs, is 0.11.0.
 * Releases after these and before the tables' oldest are taken, with a note. The operators v24.6.0 to v24.9.2 start the plugin as
 * v25.3.4 does (the same entry point and mounts), and the plugins 0.12 to 0.14 have every value that a stack sets (values.yaml);
 * that NVIDIA's matrix of support ends before today's Kubernetes is no fault that anybody has seen. What such a plugin lacks is
 * refused where a stack asks for it (device-list-strategy).
 * Source: tags and values.yaml of NVIDIA/gpu-operator and NVIDIA/k8s-device-plugin.
 */
const lines = {
  gpuOperator: {
    chart: "gpu-operator",
    takes: (version: semver.SemVer) => semver.gte(version, "24.6.0"),
    why: "the operator's releases are named by year and month; those before v24.6.0 look for the driver's devices below /run/nvidia/driver, where Talos has none",
    example: "v26.3.3",
  },
  devicePlugin: {
    chart: "nvidia-device-plugin",
    takes: (version: semver.SemVer) => semver.gte(version, "0.11.0") && version.major < 20,
    why: "versions that begin with a year are the operator's, and the chart before 0.11.0 has no value for the RuntimeClass that Talos needs",
    example: "0.19.3",
  },
} as const;

/** The chart is pinned to one release that exists in its scheme of versions and runs here. */
export const chartVersion: Check = {
  id: "chart-version",
  source: "Helm: without an exact version the newest chart of the day is taken; tags of the charts' repositories",
  find: ({ spec, plan }) =>
    (["gpuOperator", "devicePlugin"] as const).flatMap((field) => {
      const text = spec[field]?.version;
      if (text === undefined || (text === "" && plan.spec.external)) return [];
      const { chart, takes, why, example } = lines[field];
      const version = semver.parse(text);
      if (version && text === text.trim() && takes(version)) return [];
      return {
        field: `${field}.version`,
        problem: `"${text}" is not a release of the chart${version ? ` ${chart} that runs here` : ""}`,
        why: version ? why : "the same stack would install something else tomorrow, and its values cannot be checked",
        remedy: `write one exact release, e.g. \`${example}\``,
      };
    }),
};
