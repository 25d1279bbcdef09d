import { hintOf, judgeValues, pathsNear, type ChartName } from "../facts/chart";
import type { Check, Complaint } from "./check";
import { didYouMean } from "../rules/suggest";
import { ownValuesOf } from "../outside/external";
import { wrongWords } from "./chart-words";

/** Values of a chart are ones that its templates read, of the type that they expect. */
export const chartValues: Check = {
  id: "chart-values",
  source: "values.yaml and templates of the chart at its release; Helm ignores what no template reads",
  find: ({ spec, plan }) =>
    (
      [
        ["gpuOperator", "gpu-operator"],
        ["devicePlugin", "nvidia-device-plugin"],
      ] as ["gpuOperator" | "devicePlugin", ChartName][]
    ).flatMap(([field, name]) => {
      const release = spec[field];
      if (!release?.values) return [];
      const { complaints, judge } = judgeValues(name, release.version, release.values);
      if (judge === undefined) return [];
      const told = complaints.map(({ path, kind }): Complaint =>
        kind === "unknown"
          ? {
              field: `${field}.values.${path}`,
              problem: `the chart ${name} ${release.version} has no such value`,
              why: "Helm ignores it in silence, and what it was meant to do does not happen",
              remedy:
                hintOf(path) ?? `${didYouMean(path, pathsNear(judge, path))}see \`helm show values\`, or leave it out`,
            }
          : {
              field: `${field}.values.${path}`,
              problem: `must be ${kind === "array" ? "a list" : kind === "object" ? "a mapping" : kind === "boolean" ? "true or false" : `a ${kind}`}`,
              why:
                kind === "boolean"
                  ? 'a template treats any text as true, even "false"'
                  : "the template reads it differently, or fails",
              remedy:
                kind === "boolean" ? "write it without quotes" : "write it in the shape that `helm show values` has",
            },
      );
      return [told, wrongWords(spec, field, ownValuesOf(plan.spec) !== undefined)];
    }),
};
