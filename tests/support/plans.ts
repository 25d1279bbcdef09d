import { parseSpec, planCluster, type Plan } from "../../components/recipe";
import { stackSpec } from "./stacks";

/** Plan of a stack of this repository, with fields of its specification replaced. */
export function planOf(stack: string, changes: Record<string, unknown> = {}): Plan {
  const { spec, findings } = parseSpec({ ...stackSpec(stack), ...changes });
  if (!spec) throw new Error(JSON.stringify(findings));
  return planCluster(spec);
}
