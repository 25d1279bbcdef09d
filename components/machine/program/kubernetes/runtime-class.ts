import { formatDuration, parseDuration } from "../../../recipe/rules/duration";
import { waitOrFail, type Clock } from "../../../clients/clock";
import { Failure, problemAt } from "../../../clients/failure";
import type { Report } from "../progress";
import type { FreeTask } from "../task";
import type { Cluster } from "./cluster";
import texts from "../texts.json";

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
  classes: Pick<Cluster, "runtimeClass">,
  clock: Clock,
  report: Report,
): Promise<{ runtimeClass: string }> {
  const { runtimeClass: name, mark, field, pollSeconds } = task;
  const wrongHandler = (handler: string): Failure =>
    new Failure(problemAt(field, texts.classHandler, { name, handler }));
  const limit = parseDuration(task.limit);
  let isReported = false;
  const look = async () => {
    const found = await classes.runtimeClass(name);
    if (found?.policy !== undefined) {
      const its = `ClusterPolicy ${found.policy}`;
      if (!isReported) report(`waiting up to ${formatDuration(limit)} for RuntimeClass ${name} of ${its} to go`);
      isReported = true;
      return { not: `it belongs to ${its}` };
    }
    const owner = found?.annotations[mark.annotation] ?? "";
    if (found === undefined || owner.startsWith(mark.ours)) return { done: { runtimeClass: name } };
    if (owner !== "") throw new Failure(problemAt(field, texts.classOfStack, { name, owner: owner.split(" ")[0] }));
    throw found.handler === "nvidia"
      ? new Failure(problemAt(field, texts.classThere, { name }))
      : wrongHandler(found.handler);
  };
  if (!task.theirs)
    return waitOrFail(clock, { limit, poll: pollSeconds * 1_000, look }, (within) =>
      problemAt(field, texts.classStays, { name, within }),
    );
  const found = await classes.runtimeClass(name);
  if (found === undefined)
    report(`RuntimeClass ${name} is not in the cluster yet; pods that need a GPU are refused until it is`);
  else if (name === "nvidia" && found.handler !== "nvidia") throw wrongHandler(found.handler);
  else report(`RuntimeClass ${name}, with the handler ${found.handler}, is somebody else's, and stays as it is`);
  return { runtimeClass: name };
}
