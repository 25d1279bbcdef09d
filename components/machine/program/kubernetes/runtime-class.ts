import { formatDuration, parseDuration } from "../../../recipe/rules/duration";
import { waitOrFail, type Clock } from "../../../clients/clock";
import { Failure, problemAt } from "../../../clients/failure";
import type { Report } from "../progress";
import type { FreeResult, FreeTask } from "../task";
import type { Cluster } from "./cluster";
import texts from "../texts.json";

type RuntimeClasses = Pick<Cluster, "runtimeClass">;

/**
 * Waits until a RuntimeClass is no longer the GPU Operator's. It goes by garbage collection, a while after the operator's
 * release, and a class of the same name cannot be made before. Changes nothing.
 *
 * One that is to be somebody else's (`theirs`) is only looked at: it may come later, and of the name `nvidia` it has the handler `nvidia`,
 * which NVIDIA's toolkit on Talos registers (siderolabs/extensions, 10-nvidia-container-runtime.part).
 *
 * @throws Failure where the class is somebody else's, and at the limit: an operator of somebody else's is there.
 */
export async function awaitFree(
  task: FreeTask,
  classes: RuntimeClasses,
  clock: Clock,
  report: Report,
): Promise<FreeResult> {
  const { runtimeClass, mark, field, pollSeconds } = task;
  if (task.theirs) return { runtimeClass: await seenClass(field, runtimeClass, classes, report) };
  const limit = parseDuration(task.limit);
  let isReported = false;
  const look = async (): Promise<{ done: FreeResult } | { not: string }> => {
    const found = await classes.runtimeClass(runtimeClass);
    if (found?.policy === undefined) {
      const owner = found?.annotations[mark.annotation] ?? "";
      if (found !== undefined && !owner.startsWith(mark.ours)) throw foreign(field, runtimeClass, owner, found.handler);
      return { done: { runtimeClass } };
    }
    const { policy } = found;
    if (!isReported)
      report(
        `waiting up to ${formatDuration(limit)} for RuntimeClass ${runtimeClass} of ClusterPolicy ${policy} to go`,
      );
    isReported = true;
    return { not: `it belongs to ClusterPolicy ${policy}` };
  };
  return waitOrFail(clock, { limit, poll: pollSeconds * 1_000, look }, (within) =>
    problemAt(field, texts.classStays, { runtimeClass, within }),
  );
}

async function seenClass(field: string, name: string, classes: RuntimeClasses, report: Report): Promise<string> {
  const found = await classes.runtimeClass(name);
  if (found === undefined)
    report(`RuntimeClass ${name} is not in the cluster yet; pods that need a GPU are refused until it is`);
  else if (name === "nvidia" && found.handler !== "nvidia") throw wrongHandler(field, name, found.handler);
  else report(`RuntimeClass ${name}, with the handler ${found.handler}, is somebody else's, and stays as it is`);
  return name;
}

const wrongHandler = (field: string, name: string, handler: string): Failure =>
  new Failure(problemAt(field, texts.classHandler, { name, handler }));

/** @param owner What its mark says; empty where it has none. */
function foreign(field: string, runtimeClass: string, owner: string, handler: string): Failure {
  if (owner !== "")
    return new Failure(problemAt(field, texts.classOfStack, { runtimeClass, owner: owner.split(" ")[0] }));
  if (handler !== "nvidia") return wrongHandler(field, runtimeClass, handler);
  return new Failure(problemAt(field, texts.classThere, { runtimeClass }));
}
