import { formatDuration, parseDuration } from "../../duration";
import { LimitReached, waitFor, type Clock } from "../clock";
import { Failure } from "../failure";
import type { Report } from "../progress";
import type { FreeTask } from "../task";

/** RuntimeClasses of a cluster, as far as it matters whose they are. */
export interface RuntimeClasses {
  /** Name of the ClusterPolicy that owns the class; undefined when none does, or when there is no such class. */
  policyOf(runtimeClass: string): Promise<string | undefined>;
}

/**
 * Waits until a RuntimeClass is no longer the GPU Operator's. It goes by garbage collection, a while after the operator's
 * release, and a class of the same name cannot be made before. Changes nothing.
 *
 * @throws Failure at the limit: an operator of somebody else's is there.
 */
export async function awaitFree(
  task: FreeTask,
  classes: RuntimeClasses,
  clock: Clock,
  report: Report,
): Promise<{ runtimeClass: string }> {
  const { runtimeClass, pollSeconds } = task;
  const limit = parseDuration(task.limit);
  let told = false;
  try {
    return await waitFor(clock, {
      what: `RuntimeClass ${runtimeClass} to go`,
      limit,
      poll: pollSeconds * 1_000,
      look: async () => {
        const policy = await classes.policyOf(runtimeClass);
        if (policy === undefined) return { done: { runtimeClass } };
        if (!told)
          report(
            `waiting up to ${formatDuration(limit)} for RuntimeClass ${runtimeClass} of ClusterPolicy ${policy} to go`,
          );
        told = true;
        return { not: `it belongs to ClusterPolicy ${policy}` };
      },
    });
  } catch (error) {
    if (!(error instanceof LimitReached)) throw error;
    throw new Failure([
      {
        field: "devicePlugin",
        problem: `RuntimeClass ${runtimeClass} did not go within ${formatDuration(limit)} (last: ${error.missing})`,
        why: "the GPU Operator and the standalone device plugin would both offer the GPUs",
        remedy: "uninstall the GPU Operator that is there, or let this stack bring it (gpuOperator), then run again",
      },
    ]);
  }
}
