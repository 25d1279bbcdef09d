import { judgesOf, valueComplaints, type ChartName } from "../facts/chart";
import { isMapping } from "../mapping";
import type { Check, Complaint } from "./check";
import { didYouMean } from "../stack/suggest";
import { wrongWords } from "./chart-words";

const hints: [RegExp, string][] = [
  [
    /\.nodeSelector$|^daemonsets\.(nodeSelector|affinity)$|\.affinity$/,
    "the operator places its pods by node labels alone: label the machines instead (machines.<name>.labels)",
  ],
  [/\.tolerations$/, "all operands share daemonsets.tolerations; the machines' own taints are tolerated without it"],
];

/** Variables of the operator's parts: a list, and each value a text. Source: gpu-operator, api/nvidia/v1/clusterpolicy_types.go (EnvVar). */
function wrongVariables(values: unknown, path: readonly string[] = []): Complaint[] {
  if (!isMapping(values)) return [];
  return Object.entries(values).flatMap(([key, value]) => {
    if (key !== "env" || !Array.isArray(value)) return wrongVariables(value, [...path, key]);
    const odd = value.find(
      (item) => isMapping(item) && item["value"] !== undefined && typeof item["value"] !== "string",
    ) as Record<string, unknown> | undefined;
    if (odd === undefined) return [];
    return [
      {
        field: `gpuOperator.values.${[...path, key].join(".")}`,
        problem: `${String(odd["name"])} has a value that is no text`,
        why: "the API server refuses the ClusterPolicy, and the release with it",
        remedy: "write it in quotes",
      },
    ];
  });
}

export const chartValues: Check = {
  id: "chart-values",
  source: "values.yaml and templates of the chart at its release; Helm ignores what no template reads",
  find: ({ spec }) =>
    (
      [
        ["gpuOperator", "gpu-operator"],
        ["devicePlugin", "nvidia-device-plugin"],
      ] as ["gpuOperator" | "devicePlugin", ChartName][]
    ).flatMap(([field, name]) => {
      const release = spec[field];
      // Between two releases of the tables, what one of them takes may be right: only what both refuse is told.
      const [chart, ...others] = release?.values ? judgesOf(name, release.version) : [];
      if (!release?.values || !chart) return [];
      const refusedToo = others.map((other) => valueComplaints(other, release.values ?? {}).map(({ path }) => path));
      const complaints = valueComplaints(chart, release.values).filter(({ path }) =>
        refusedToo.every((paths) => paths.includes(path)),
      );
      const told = complaints.map(({ path, kind }): Complaint =>
        kind === "unknown"
          ? {
              field: `${field}.values.${path}`,
              problem: `the chart ${name} ${release.version} has no such value`,
              why: "Helm ignores it in silence, and what it was meant to do does not happen",
              remedy:
                hints.find(([pattern]) => pattern.test(path))?.[1] ??
                `${didYouMean(path, Object.keys(chart.paths))}see \`helm show values\`, or leave it out`,
            }
          : {
              field: `${field}.values.${path}`,
              problem: `must be ${kind === "array" ? "a list" : kind === "object" ? "a mapping" : kind === "boolean" ? "true or false" : `a ${kind}`}`,
              why:
                kind === "boolean"
                  ? 'a template takes any text for true, "false" too'
                  : "the template reads it differently, or fails",
              remedy:
                kind === "boolean" ? "write it without quotes" : "write it in the shape that `helm show values` has",
            },
      );
      const shapes = field === "gpuOperator" ? wrongVariables(release.values) : [];
      return [...told, ...wrongWords(spec, field), ...shapes];
    }),
};
