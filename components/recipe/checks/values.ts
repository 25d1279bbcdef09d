import { hintOf, checkValues, nearestPathTo, type ChartValueFinding } from "../facts/chart";
import { chartOfField, type ReleaseField, releaseFields } from "../facts/gpu-provider";
import { operands, yesOrNo } from "../facts/data/operand-variables.json";
import { envOf } from "../cluster/values";
import { valueAt } from "../mapping";
import { externalOf, ownValuesOf } from "../external/external";
import { shown } from "../rules";
import { describe } from "../shape";
import type { CheckContext, Checks, Found } from "./check";
import { unlikeTalos, withoutGpus, wrongWords } from "./wrong-value-rows";
import { wrongNames, wrongValues } from "./wrong-values";

/** Checks of the charts' values: their names and types, and values that NVIDIA's programs or Talos refuse. */
export const valueChecks = {
  "chart-values": {
    rule: "The chart's templates read each value, and the templates, NVIDIA's programs and Kubernetes accept the value",
    source:
      "values.yaml and templates of the chart at its release; Helm ignores a value that no template reads",
    ofFiles: true,
    find: (context) => [
      releaseFields.map((field) => misnamedValues(context, field)),
      wrongValues(context, wrongWords),
      // The stack does not set the namespace and the RuntimeClass of an external release.
      ownValuesOf(context.plan.spec) === undefined && wrongNames(context),
    ],
  },
  "operator-values": {
    rule: "The operator's values fit Talos: its folders, its read-only root and its container toolkit",
    source:
      "gpu-operator v26.7.0, controllers/object_controls.go (toolkit on read-only hosts); nvidia-container-toolkit, CDI; mig-parted#356",
    ofFiles: true,
    find: (context) => wrongValues(context, unlikeTalos),
  },
  "operand-env": {
    rule: "Each variable in an operand's env has a value that the operand's program accepts",
    source:
      "k8s-device-plugin v0.20.0, cmd/nvidia-device-plugin/main.go (flags, validateFlags), cmd/gpu-feature-discovery/main.go; gpu-operator v26.7.0, controllers/object_controls.go (TransformDevicePlugin)",
    ofFiles: true,
    find: ({ spec }) =>
      Object.entries(operands).flatMap(([operand, table]) =>
        Object.entries<string | string[]>(table).map(([name, allowed]) => {
          const allowedTexts = typeof allowed === "string" ? yesOrNo : allowed;
          const text = envOf(valueAt(spec.gpuOperator?.values, operand, "env"), name);
          return text !== undefined && !allowedTexts.includes(text)
            ? {
                field: `gpuOperator.values.${operand}.env`,
                problem: `${name} is ${shown(text)} but must be one of ${allowedTexts.join(", ")}`,
                why: "the program exits at each start, so the node offers no GPU, or lacks the labels of its cards",
                remedy: "write one of these values, or leave the variable out",
              }
            : undefined;
        }),
      ),
  },
  "values-without-gpus": {
    rule: "No chart value turns the GPUs off",
    source:
      "gpu-operator v25.3.4 to v26.7.0: deployments/gpu-operator/templates/{clusterpolicy,validations}.yaml, controllers/state_manager.go, controllers/object_controls.go (NRI plugin); gpu-operator#647 (driver image); k8s-device-plugin, deployments/helm",
    ofFiles: false,
    find: (context) => wrongValues(context, withoutGpus),
  },
} satisfies Checks;

function misnamedValues({ spec, plan }: CheckContext, field: ReleaseField): Found {
  const { version, values } = spec[field] ?? {};
  const name = chartOfField(field);
  if (version === undefined || !values) return undefined;
  const { findings, checkedWith } = checkValues(name, version, values);
  if (checkedWith === undefined) return undefined;
  return findings.map(({ path, kind }: ChartValueFinding) => {
    const valuePath = `${field}.values.${path}`;
    if (kind === "boolean")
      return {
        field: valuePath,
        problem: `must be ${describe(kind)}`,
        why: 'a template treats any text as true, even "false"',
        remedy: "write it without quotes",
      };
    if (kind !== "unknown")
      return {
        field: valuePath,
        problem: `must be ${describe(kind === "array" ? "[any" : kind)}`,
        why: "the chart's template misreads the value, or fails",
        remedy: "write it in the form that `helm show values` shows",
      };
    const suggestedPath = nearestPathTo(checkedWith, path);
    const question = suggestedPath === undefined ? "" : `did you mean "${suggestedPath}"? `;
    return {
      field: valuePath,
      problem: `the chart ${name} ${version} does not have this value`,
      why: "Helm ignores it without an error, so it has no effect",
      ...(hintOf(path) ?? { remedy: `${question}see \`helm show values\`, or leave it out` }),
      // In the stack's own release such a value is a mistake, because its author expects an effect. An external release
      // already runs with the value.
      ...(externalOf(plan.spec)?.kind === field ? { severity: "warning" as const } : {}),
    };
  });
}
