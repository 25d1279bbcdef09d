import { taintsOf, tolerates } from "../../../../components/recipe/machine/taints";
import type { PodToleration } from "../../../../components/recipe/types";
import type { Transform } from "../../transform";

/** Nothing tolerates the taints of the stack's own machines. */
export const tolerations: Transform = ({ spec, kubernetes }) => {
  const taints = Object.values(spec.machines).flatMap(taintsOf);
  const others = (list: PodToleration[]): PodToleration[] =>
    list.filter((toleration) => !taints.some((taint) => tolerates(toleration, taint)));
  kubernetes.tolerations = others(kubernetes.tolerations);
  for (const values of tolerationLists(kubernetes.release.values)) {
    values["tolerations"] = others(values["tolerations"] as PodToleration[]);
  }
};

type Values = Record<string, unknown>;

/** Every mapping of a chart's values that has a list of tolerations. */
function tolerationLists(values: Values): Values[] {
  const children = Object.values(values).filter(
    (value): value is Values => typeof value === "object" && value !== null,
  );
  return [...(Array.isArray(values["tolerations"]) ? [values] : []), ...children.flatMap(tolerationLists)];
}
