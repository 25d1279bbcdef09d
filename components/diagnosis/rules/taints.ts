import type { Observations } from "../observations";
import { describeTaint, taintsOf } from "../../recipe/machine/taints";
import type { NodeTaint, Plan } from "../../recipe/types";
import { type Evidence, matching } from "../evidence";
import type { Rule } from "./rule";
import type { System } from "./system";

/** Both are about the taints that a stack sets; without its plan nobody knows which of a node's taints those are. */
export const tolerations: Rule = { fix: "tolerations", sign: taintNotTolerated, causes: [] };
/** A node lacks a taint of the stack's. */
export const taintThroughApi: Rule = { fix: "taintThroughApi", sign: taintMissing, causes: [] };

/**
 * Only taints that the stack itself sets: those of somebody else are not what this fix is about. Older schedulers name the
 * taint, that of Kubernetes 1.36 does not (plugins/tainttoleration): then it must be all that the node has.
 */
function taintNotTolerated(seen: Observations, { plan }: System): Evidence[] {
  if (plan === undefined) return [];
  const planned = plannedTaints(plan).filter(({ taint }) => taint.effect !== "PreferNoSchedule");
  const named = planned.flatMap(({ taint }) =>
    matching(seen, new RegExp(`untolerated taint \\{${escape(taint.key)}: `)),
  );
  const excluded = planned.map(({ machine }) => machine).filter((machine) => hasNoOtherTaint(seen, plan, machine));
  return excluded.length === 0 ? named : [...named, ...matching(seen, /untolerated taint\(s\)/)];
}

function hasNoOtherTaint(seen: Observations, plan: Plan, machine: string): boolean {
  const planned = taintsOf(plan.spec.machines[machine]!).map(describeTaint);
  const found = seen.nodes?.find(({ name }) => name === machine)?.taints ?? [];
  return found.length > 0 && found.every((taint) => planned.includes(taint));
}

function taintMissing(seen: Observations, { plan }: System): string[] {
  if (plan === undefined) return [];
  return plannedTaints(plan).flatMap(({ machine, taint }) => {
    const node = seen.nodes?.find((candidate) => candidate.name === machine);
    const missing = node?.taints !== undefined && !node.taints.includes(describeTaint(taint));
    return missing ? [`node ${machine} lacks ${describeTaint(taint)}`] : [];
  });
}

/** Taints that the stack says, whichever way they go onto the node. */
function plannedTaints(plan: Plan): { machine: string; taint: NodeTaint }[] {
  return Object.entries(plan.spec.machines).flatMap(([machine, spec]) =>
    taintsOf(spec).map((taint) => ({ machine, taint })),
  );
}

const escape = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
