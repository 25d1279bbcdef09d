import type { Plan } from "../../recipe/types";
import type { Observations } from "../observations";
import type { Difference } from "./difference";
import { unlikeExposure } from "./exposure";
import { unlikeMachines } from "./machines";
import { unlikeNodes } from "./nodes";
import { unlikeWorking } from "./without-plan";
import { unlikeWorkloads } from "./workloads";

export { type Difference, inOneLine } from "./difference";

/**
 * Where what is seen is unlike the plan, from the machine up; without a plan, unlike any cluster that offers GPUs. Pure.
 * Whatever nobody looked at is not judged, so empty says no more than what was looked at.
 */
export function differences(seen: Observations, plan?: Plan): Difference[] {
  if (plan === undefined) return unlikeWorking(seen);
  const areas = [unlikeMachines, unlikeNodes, unlikeExposure, unlikeWorkloads];
  const found = areas.flatMap((area) => area(plan, seen));
  // A workload in the release's namespace is seen by two areas.
  return found.filter(
    ({ about, problem }, index) =>
      index === found.findIndex((other) => other.about === about && other.problem === problem),
  );
}
