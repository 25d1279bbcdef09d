import { parseSpec, planCluster, type Plan } from "../../components/recipe";
import { readStackFile } from "../../stacks/stack-file";

/** Plan of a stack of this repository, with fields of its specification replaced. */
export function planOf(stack: string, changes: Record<string, unknown> = {}): Plan {
  const { spec, findings } = parseSpec({ ...readStackFile(stack), ...changes });
  if (!spec) throw new Error(JSON.stringify(findings));
  return planCluster(spec);
}

/** Whether a node selector matches a node's labels. */
export const selectorMatches = (
  selector: Record<string, string>,
  labels: Record<string, string>,
): boolean => Object.entries(selector).every(([key, value]) => labels[key] === value);

/**
 * Machines of a plan that a node selector matches by the labels that the plan gives them.
 *
 * @param externalLabels labels that others set, such as the operator. Default: none.
 */
export const selectedMachines = (
  selector: Record<string, string>,
  plan: Plan,
  externalLabels: Record<string, string> = {},
): string[] =>
  plan.machines
    .filter(({ nodeLabels }) => selectorMatches(selector, { ...externalLabels, ...nodeLabels }))
    .map(({ name }) => name);
