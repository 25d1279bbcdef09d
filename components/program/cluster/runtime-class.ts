import { formatDuration, parseDuration } from "../../recipe/rules/duration";
import { waitOrFail, type Clock } from "../../clients/clock";
import { Failure } from "../../clients/failure";
import type { Report } from "../progress";
import type { FreeTask } from "../task";
import type { Cluster } from "./cluster";

/**
 * Waits until the GPU Operator's RuntimeClass is gone. Kubernetes' garbage collection deletes the class some time after
 * the deletion of the operator's Helm release. The stack can create a class of the same name only after that. Changes
 * nothing.
 *
 * For an external class (`isExternal`) there is no wait, and the class need not exist yet. A class with the name
 * `nvidia` must have the handler `nvidia`, which NVIDIA's toolkit on Talos registers (siderolabs/extensions,
 * 10-nvidia-container-runtime.part).
 *
 * @throws Failure if another owner has a class of that name, or if the operator's class still exists at the limit. The
 * operator is then still installed.
 */
export async function awaitFree(
  task: FreeTask,
  classes: Pick<Cluster, "runtimeClass">,
  clock: Clock,
  report: Report,
): Promise<{ runtimeClass: string }> {
  const { runtimeClass: name, mark, field, pollSeconds } = task;
  const wrongHandler = (handler: string): Failure =>
    new Failure({
      field,
      problem: `RuntimeClass ${name}, which does not belong to this stack, has the handler ${handler}`,
      why: "on Talos only the handler nvidia starts NVIDIA's runtime: the smoke test and the workloads would not start, or would see no card",
      remedy: `run \`kubectl delete runtimeclass ${name}\`, because Kubernetes cannot change a handler (running pods stay). ${task.isExternal ? "Then its owner must create it with `handler: nvidia`" : "Then run again: the stack creates the class with `handler: nvidia`"}`,
    });
  const limit = parseDuration(task.limit);
  let isReported = false;
  const look = async () => {
    const existing = await classes.runtimeClass(name);
    if (existing?.policy !== undefined) {
      const policyText = `ClusterPolicy ${existing.policy}`;
      if (!isReported)
        report(
          `waiting up to ${formatDuration(limit)} until RuntimeClass ${name} of ${policyText} is deleted`,
        );
      isReported = true;
      return { not: `it belongs to ${policyText}` };
    }
    const owner = existing?.annotations[mark.annotation] ?? "";
    if (existing === undefined || owner.startsWith(mark.valuePrefix))
      return { done: { runtimeClass: name } };
    if (owner !== "")
      throw new Failure({
        field,
        problem: `RuntimeClass ${name} already exists, and was created by ${owner.split(" ")[0]!}`,
        why: "the stack creates a class of this name once the machines are upgraded, and Kubernetes would refuse that",
        remedy: "put all GPU machines of the cluster into one stack",
      });
    throw existing.handler === "nvidia"
      ? new Failure({
          field,
          problem: `RuntimeClass ${name} already exists, and does not belong to this stack`,
          why: "the stack creates a class of this name once the machines are upgraded, and Kubernetes would refuse that",
          remedy: `run \`kubectl delete runtimeclass ${name}\`, then run again. Running pods stay. New pods of that class start once the stack has created its RuntimeClass`,
        })
      : wrongHandler(existing.handler);
  };
  if (!task.isExternal)
    return waitOrFail(clock, { limit, poll: pollSeconds * 1_000, look }, (limitText) => ({
      field,
      problem: `RuntimeClass ${name} was not deleted ${limitText}`,
      why: "the RuntimeClass belongs to an installed GPU Operator, which would offer the same GPUs as this stack's GPU provider",
      remedy:
        "uninstall the existing GPU Operator, or install it with this stack (gpuOperator), then run again",
    }));
  const existing = await classes.runtimeClass(name);
  if (existing === undefined)
    report(
      `RuntimeClass ${name} does not exist yet; until it exists, Kubernetes refuses pods that need a GPU`,
    );
  else if (name === "nvidia" && existing.handler !== "nvidia") throw wrongHandler(existing.handler);
  else
    report(
      `RuntimeClass ${name} with the handler ${existing.handler} belongs to another tool, and stays unchanged`,
    );
  return { runtimeClass: name };
}
