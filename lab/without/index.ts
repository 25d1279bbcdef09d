/**
 * The package has no option that turns a fix off. To show the failure that a fix prevents, the lab changes the finished
 * plan by one transform per fix; `program.ts` passes these to the stack's program.
 */
import type { FixId } from "../../components/diagnosis";
import type { Plan } from "../../components/recipe";
import { transforms } from "./transforms";

/** Gives a plan without these fixes. The given plan does not change. */
export function leaveOut<P extends Plan>(fixes: readonly FixId[], plan: P): P {
  // A plan is plain data. Under jest, a structured clone has arrays of another realm, which Pulumi does not recognise
  // as arrays.
  const changedPlan = JSON.parse(JSON.stringify(plan)) as P;
  for (const fix of fixes) transforms[fix](changedPlan);
  return changedPlan;
}
