import type { Plan } from "../../components/recipe";
import { describeTaint, taintsOf } from "../../components/recipe/machine/taints";
import type { LabReport } from "./report";

/** Where nodes and workloads are not as the plan says, in words; empty when all is as planned. */
export function deviations(plan: Plan, report: Pick<LabReport, "machines" | "workloads">): string[] {
  const found: string[] = [];
  for (const { name, allocatable } of plan.machines) {
    const node = report.machines[name];
    for (const [resource, count] of Object.entries(allocatable)) {
      const offered = node?.allocatable[resource] ?? "none";
      if (offered !== String(count)) found.push(`${name}: offers ${offered} of ${resource}, the plan says ${count}`);
    }
    for (const taint of taintsOf(plan.spec.machines[name]!).map(describeTaint))
      if (!node?.taints.includes(taint)) found.push(`${name}: has no taint ${taint}`);
  }
  for (const { namespace, name, kind, ready } of report.workloads)
    if (!ready) found.push(`${kind} ${namespace}/${name}: not ready`);
  return found;
}
