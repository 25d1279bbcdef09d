import type { Plan } from "../../recipe/types";
import type { Observations } from "../observations";
import { type Difference, inOneLine } from "./difference";
import { exposureDifferences } from "./exposure";
import { machineDifferences } from "./machines";
import { nodeDifferences } from "./nodes";
import { differencesWithoutPlan } from "./without-plan";
import { workloadDifferences } from "./workloads";

export { type Difference, inOneLine } from "./difference";

/**
 * Where what is seen differs from the plan, from the machine up; without a plan, from any cluster that offers GPUs. Pure.
 * Whatever nobody looked at is not judged, so empty says no more than what was looked at.
 */
export function differences(seen: Observations, plan?: Plan): Difference[] {
  if (plan === undefined) return differencesWithoutPlan(seen);
  const areas = [machineDifferences, nodeDifferences, exposureDifferences, workloadDifferences];
  const found = areas.flatMap((area) => area(plan, seen));
  // A workload in the release's namespace is seen by two areas.
  return [...new Map(found.map((one) => [inOneLine(one), one])).values()];
}
