import { splitKernelArgs } from "../../../recipe/machine/kernel-args";
import { formatDuration } from "../../../recipe/rules/duration";
import { waitOrFail } from "../../../clients/clock";
import { problemAt } from "../../../clients/failure";
import type { Machine } from "../../../clients/talos/talos-machine";
import { driverProblems } from "../seen/driver";
import type { UpgradeTask } from "../task";
import { patiently, type Run, upTo } from "./run";
import texts from "../texts.json";

/** Whether the driver is loaded as it shall be. */
export const driverIsRight = async (run: Run): Promise<boolean> =>
  (await patiently(run, () => driverProblems(run.machine, run.task))).length === 0;

/** Waits until modules, driver and extension services are as wanted. */
export async function verify(run: Run): Promise<void> {
  const { task, machine, report, limits } = run;
  await run.phases.run("verify", `modules, driver and extension services, ${upTo(limits.verify)}`, () =>
    awaitDriver(run),
  );
  const unfollowed = await patiently(run, () => unfollowedArgs(machine, task));
  if (unfollowed.length > 0)
    report(
      `warning: ${task.machine}: its kernel was not started as kernelArgs says (${unfollowed.join(" ")}): GRUB takes no arguments from ` +
        "the image unless the machine's configuration says machine.install.grubUseUKICmdline",
    );
}

async function awaitDriver({ machine, task, clock, guard, limits: { verify: limit }, poll }: Run): Promise<void> {
  const end = clock.now() + limit;
  let problems: string[] = [];
  const look = async () => {
    problems = await driverProblems(machine, task);
    if (problems.length > 0) await guard.look(end - clock.now());
    return problems.length === 0 ? { done: true } : { not: problems.join(", ") };
  };
  await waitOrFail(clock, { limit, poll, look }, (_, last) =>
    (problems.length > 0 ? problems : [last]).map((problem) =>
      problemAt(`machines.${task.machine}`, texts.noGpu, { problem, limit: formatDuration(limit), task }),
    ),
  );
}

/** Kernel arguments of the stack that the kernel's command line does not follow. */
async function unfollowedArgs(machine: Machine, { image }: Pick<UpgradeTask, "image">): Promise<string[]> {
  if (image.kernelArgs.length === 0) return [];
  const text = await machine.read("/proc/cmdline");
  if (text === undefined) return [];
  const running = splitKernelArgs(text);
  const wanted = image.kernelArgs.flatMap(splitKernelArgs);
  return wanted.filter((arg) => {
    // `-x` and `-x=1` take away what Talos brings, and are themselves on no command line (go-procfs v0.1.2, procfs/cmdline.go, AppendAll).
    if (!/^-./.test(arg)) return !running.includes(arg);
    const gone = arg.slice(1);
    const isGone = (word: string): boolean => word === gone || (!gone.includes("=") && word.startsWith(`${gone}=`));
    return running.some((word) => isGone(word) && !wanted.includes(word));
  });
}
