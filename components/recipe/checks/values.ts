import { hintOf, judgeValues, pathsNear, type ValueComplaint } from "../facts/chart";
import { chartOfField, type ReleaseField, releaseFields } from "../facts/leader-worker-set";
import { operands, yesOrNo } from "../facts/data/operand-variables.json";
import { envOf } from "../kubernetes/values";
import { valueAt } from "../mapping";
import { ownValuesOf } from "../outside/external";
import { didYouMean } from "../rules/suggest";
import { describe } from "../shape";
import type { CheckContext, Checks, Found } from "./check";
import { wrongNames, wrongValues } from "./wrong-values";

/** Values of the charts: their names and types, and those that NVIDIA's programs or Talos do not take. */
export const valueChecks: Checks = {
  /**
   * Values of a chart are ones that its templates read, of the type that they expect. Source: values.yaml and templates of the chart at
   * its release; Helm ignores what no template reads.
   */
  "chart-values": (context) => [
    releaseFields.map((field) => misnamed(context, field)),
    wrongValues(context, "wrongWords"),
    // Namespace and RuntimeClass of somebody else's release are not the stack's.
    ownValuesOf(context.plan.spec) === undefined && wrongNames(context),
  ],
  /**
   * The operator's values fit Talos' layout. Source: gpu-operator v26.7.0, controllers/object_controls.go (toolkit on read-only hosts);
   * nvidia-container-toolkit, CDI; mig-parted#356.
   */
  "operator-values": (context) => wrongValues(context, "unlikeTalos"),
  /**
   * The operator sets an operand's `env` last, over what it made of its other values. Source: k8s-device-plugin v0.20.0,
   * cmd/nvidia-device-plugin/main.go (flags, validateFlags), cmd/gpu-feature-discovery/main.go; gpu-operator v26.7.0,
   * controllers/object_controls.go (TransformDevicePlugin).
   */
  "operand-env": ({ spec }) =>
    Object.entries(operands).flatMap(([operand, table]) =>
      Object.entries<string | string[]>(table).map(([name, said]) => {
        const takes = typeof said === "string" ? yesOrNo : said;
        const text = envOf(valueAt(spec.gpuOperator?.values, operand, "env"), name);
        return (
          text !== undefined &&
          !takes.includes(text) && {
            field: `gpuOperator.values.${operand}.env`,
            problem: `${name} is "${text.slice(0, 60)}", and must be ${said === "yesOrNo" ? '"true" or "false"' : `one of ${takes.join(", ")}`}`,
            why: "the program ends with it at each start, and the node offers no GPU, or has no labels of its cards",
            remedy: "write that, or leave the variable out",
          }
        );
      }),
    ),
  /**
   * No value of a chart takes away what gives out GPUs. Source: gpu-operator v25.3.4 to v26.7.0:
   * deployments/gpu-operator/templates/{clusterpolicy,validations}.yaml, controllers/state_manager.go, controllers/object_controls.go
   * (NRI plugin); gpu-operator#647 (driver image); k8s-device-plugin, deployments/helm.
   */
  "values-without-gpus": (context) => wrongValues(context, "withoutGpus"),
};

function misnamed({ spec }: CheckContext, field: ReleaseField): Found {
  const { version, values } = spec[field] ?? {};
  const name = chartOfField(field);
  if (version === undefined || !values) return undefined;
  const { complaints, judge } = judgeValues(name, version, values);
  if (judge === undefined) return undefined;
  return complaints.map(({ path, kind }: ValueComplaint) => ({
    field: `${field}.values.${path}`,
    ...(kind === "unknown"
      ? {
          problem: `the chart ${name} ${version} has no such value`,
          why: "Helm ignores it in silence, and what it was meant to do does not happen",
          remedy:
            hintOf(path) ?? `${didYouMean(path, pathsNear(judge, path))}see \`helm show values\`, or leave it out`,
        }
      : {
          problem: `must be ${describe(kind === "array" ? "[any" : kind)}`,
          ...(kind === "boolean"
            ? { why: 'a template treats any text as true, even "false"', remedy: "write it without quotes" }
            : {
                why: "the template reads it differently, or fails",
                remedy: "write it in the shape that `helm show values` has",
              }),
        }),
  }));
}
