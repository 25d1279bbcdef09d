import { diagnose, differences } from "../../components/diagnosis";
import { systemOf } from "../../components/diagnosis/system";
import { withoutAway } from "../../components/diagnosis/away";
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
  const present = plan && foreign === undefined ? withoutAway(plan, observations) : undefined;
  // Held against somebody else's cluster, everything is unlike the plan and nothing is told by it.
  const judged = foreign === undefined ? (present?.seen ?? observations) : {};
  const expected = present?.plan ?? plan;
  const away = present?.away ?? [];
  const ofAway = (line: string): boolean => away.some((name) => line.startsWith(`machine ${name} `));
  return reportOf({
    system: systemOf(judged, expected),
    planned: plan !== undefined,
    differences: differences(judged, expected),
    findings: diagnose(judged, expected),
    unseen: [...unseen.filter((line) => !ofAway(line)), ...(foreign === undefined ? [] : [foreign])],
    notes: [
      ...looking.leftOut,
      ...leftOut,
      ...away.map((name) => `machine ${name} is away, as its mayBeAway allows; nothing of it was judged`),
      ...remarks(judged, expected),
    ],
  });
}
