import { hintOf, judgeValues, meantBy, type ValueComplaint } from "../facts/chart";
import { chartOfField, type ReleaseField, releaseFields } from "../facts/way";
import { operands, yesOrNo } from "../facts/data/operand-variables.json";
import { envOf } from "../kubernetes/values";
import { valueAt } from "../mapping";
import { ownValuesOf } from "../outside/external";
import { shown } from "../rules";
import { describe } from "../shape";
import { type CheckContext, type Checks, complaint, type Found } from "./check";
import { wrongNames, wrongValues } from "./wrong-values";

/** Values of the charts: their names and types, and those that NVIDIA's programs or Talos do not take. */
export const valueChecks: Checks = {
  "chart-values": (context) => [
    releaseFields.map((field) => misnamed(context, field)),
    wrongValues(context, "wrongWords"),
    // Namespace and RuntimeClass of somebody else's release are not the stack's.
    ownValuesOf(context.plan.spec) === undefined && wrongNames(context),
  ],
  "operator-values": (context) => wrongValues(context, "unlikeTalos"),
  "operand-env": ({ spec }) =>
    Object.entries(operands).flatMap(([operand, table]) =>
      Object.entries<string | string[]>(table).map(([name, said]) => {
        const takes = typeof said === "string" ? yesOrNo : said;
        const text = envOf(valueAt(spec.gpuOperator?.values, operand, "env"), name);
        return (
          text !== undefined &&
          !takes.includes(text) &&
          complaint(`gpuOperator.values.${operand}.env`, "operand-env", { name, text: shown(text), takes })
        );
      }),
    ),
  "values-without-gpus": (context) => wrongValues(context, "withoutGpus"),
};

function misnamed({ spec }: CheckContext, field: ReleaseField): Found {
  const { version, values } = spec[field] ?? {};
  const name = chartOfField(field);
  if (version === undefined || !values) return undefined;
  const { complaints, judge } = judgeValues(name, version, values);
  if (judge === undefined) return undefined;
  return complaints.map(({ path, kind }: ValueComplaint) => {
    const at = `${field}.values.${path}`;
    if (kind === "boolean") return complaint(at, "chart-values/boolean", { kind: describe(kind) });
    if (kind !== "unknown")
      return complaint(at, "chart-values/shape", { kind: describe(kind === "array" ? "[any" : kind) });
    const meant = meantBy(judge, path);
    const question = meant === undefined ? "" : `did you mean "${meant}"? `;
    const remedy = hintOf(path) ?? `${question}see \`helm show values\`, or leave it out`;
    const unknown = complaint(at, "chart-values/unknown", { name, version, remedy });
    return { ...unknown, dead: true as const };
  });
}
