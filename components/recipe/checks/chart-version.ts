import * as semver from "semver";
import type { Check } from "./check";

export const chartVersion: Check = {
  id: "chart-version",
  source: "Helm: without an exact version the newest chart of the day is taken",
  find: ({ spec }) =>
    (["gpuOperator", "devicePlugin"] as const)
      .filter((field) => spec[field] && !semver.parse(spec[field].version))
      .map((field) => ({
        field: `${field}.version`,
        problem: `"${spec[field]?.version}" is not a release of the chart`,
        why: "the same stack would install something else tomorrow, and its values cannot be checked",
        remedy: `write one exact release, e.g. ${field === "gpuOperator" ? "`v26.3.3`" : "`0.19.3`"}`,
      })),
};
