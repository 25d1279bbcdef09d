import { formatDuration, parseDuration } from "../../recipe/rules/duration";
import { waitOrFail, type Clock } from "../../clients/clock";
import { Failure } from "../../clients/failure";
import type { Report } from "../progress";
import type { FreeTask } from "../task";
import type { Cluster } from "./cluster";

/**
 * Waits until a RuntimeClass is no longer the GPU Operator's. It goes by garbage collection, a while after the
 * operator's release, and a class of the same name cannot be made before. Changes nothing.
 *
 * One that should be external (`theirs`) is only looked at: it may come later, and of the name `nvidia` it has the
 * handler `nvidia`, which NVIDIA's toolkit on Talos registers (siderolabs/extensions,
 * 10-nvidia-container-runtime.part).
 *
 * @throws Failure if the class is external, and at the limit, since an external operator then runs.
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
      problem: `RuntimeClass ${name} has the handler ${handler}, and is not this stack's`,
      why: "on Talos only the handler nvidia leads to NVIDIA's runtime: the smoke test and the workloads would not start, or see no card",
      remedy: `its owner must write \`handler: nvidia\`; a handler cannot be edited, so delete the class first: kubectl delete runtimeclass ${name} (running pods stay)`,
    });
  const limit = parseDuration(task.limit);
  let isReported = false;
  const look = async () => {
    const found = await classes.runtimeClass(name);
    if (found?.policy !== undefined) {
      const its = `ClusterPolicy ${found.policy}`;
      if (!isReported)
        report(`waiting up to ${formatDuration(limit)} for RuntimeClass ${name} of ${its} to go`);
      isReported = true;
      return { not: `it belongs to ${its}` };
    }
    const owner = found?.annotations[mark.annotation] ?? "";
    if (found === undefined || owner.startsWith(mark.ours)) return { done: { runtimeClass: name } };
    if (owner !== "")
      throw new Failure({
        field,
        problem: `RuntimeClass ${name} is in the cluster already, made by ${owner.split(" ")[0]!}`,
        why: "the stack makes one of this name once the machines are upgraded, and Kubernetes would refuse it then",
        remedy: "let one stack have all GPU machines of the cluster",
      });
    throw found.handler === "nvidia"
      ? new Failure({
          field,
          problem: `RuntimeClass ${name} is in the cluster already, and is not this stack's`,
          why: "the stack makes one of this name once the machines are upgraded, and Kubernetes would refuse it then",
          remedy: `kubectl delete runtimeclass ${name}, then run again; running pods stay, and new pods of that class start once the stack has made its own`,
        })
      : wrongHandler(found.handler);
  };
  if (!task.theirs)
    return waitOrFail(clock, { limit, poll: pollSeconds * 1_000, look }, (within) => ({
      field,
      problem: `RuntimeClass ${name} did not go ${within}`,
      why: "that GPU Operator and what this stack installs would both offer the GPUs",
      remedy:
        "uninstall the GPU Operator that is there, or let this stack bring it (gpuOperator), then run again",
    }));
  const found = await classes.runtimeClass(name);
  if (found === undefined)
    report(
      `RuntimeClass ${name} is not in the cluster yet; pods that need a GPU are refused until it is`,
    );
  else if (name === "nvidia" && found.handler !== "nvidia") throw wrongHandler(found.handler);
  else
    report(
      `RuntimeClass ${name}, with the handler ${found.handler}, is external, and stays as it is`,
    );
  return { runtimeClass: name };
}
