import { differences } from "../../components/diagnosis/unlike/index";
import { systemOf } from "../../components/diagnosis/rules/system";
import { diagnose } from "../../components/diagnosis";
import { type Plan } from "../../components/recipe/index";
import type { Looking } from "../reach/access";
import { observe } from "./observe/observe";
import { foreignCluster, remarks } from "./remarks";
import { type DoctorReport, reportOf } from "./report";

/**
 * Looks at a cluster: first what is unlike the plan, then what is known to cause such a thing.
 *
 * @param within Milliseconds.
 */
export async function examine(looking: Looking, plan: Plan | undefined, within: number): Promise<DoctorReport> {
  const addresses = plan && Object.fromEntries(plan.machines.map(({ name, address }) => [name, address]));
  const { observations, unseen, leftOut } = await observe(looking, addresses, within);
  const foreign = plan && foreignCluster(plan, observations);
  // Held against somebody else's cluster, everything is unlike the plan and nothing is told by it.
  const judged = foreign === undefined ? observations : {};
  return reportOf({
    system: systemOf(judged, plan),
    planned: plan !== undefined,
    differences: differences(judged, plan),
    findings: diagnose(judged, plan),
    unseen: [...unseen, ...(foreign === undefined ? [] : [foreign])],
    notes: [...looking.leftOut, ...leftOut, ...remarks(judged, plan)],
  });
}
