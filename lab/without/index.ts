/**
 * The package cannot be made wrong by an option. To show what one of its fixes prevents, the lab changes the finished plan: one
 * transform per fix, given to the stack's program by `program.ts`.
 */
import type { FixId } from "../../components/diagnosis";
import type { Plan } from "../../components/recipe";
import { transforms } from "./transforms";

/** The plan as it would be without these fixes. The given plan stays as it is. */
export function leaveOut<P extends Plan>(fixes: readonly FixId[], plan: P): P {
  // A plan is plain data. A structured clone has arrays of another realm under jest, which Pulumi takes for none.
  const wrong = JSON.parse(JSON.stringify(plan)) as P;
  for (const fix of fixes) transforms[fix](wrong);
  return wrong;
}
