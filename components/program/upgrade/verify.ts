import { argsMissingIn } from "../../recipe/machine/kernel-args";
import { formatDuration } from "../../recipe/rules/duration";
import { waitOrFail } from "../../clients/clock";
import type { FieldFinding } from "../../clients/failure";
import type { Machine } from "../../clients/talos/talos-machine";
import { driverProblems } from "../seen/driver";
import { criProblem } from "../seen/sandbox";
import type { UpgradeTask } from "../task";
import { patiently, type Run, upTo } from "./run";

/** Whether the wanted driver is loaded, and containerd can start pods. */
export const isWell = (run: Run): Promise<boolean> =>
  patiently(run, async () => {
    const { machine, task } = run;
    return (
      (await criProblem(machine)) === undefined &&
      (await driverProblems(machine, task)).length === 0
    );
  });

/** Waits until containerd is up, and modules, driver and extension services agree with the stack. */
export async function verify(run: Run): Promise<void> {
  const { task, machine, report, limits } = run;
  await run.phases.run(
    "verify",
    `containerd, modules, driver and extension services, ${upTo(limits.verify)}`,
    () => awaitDriver(run),
  );
  const unfollowed = await patiently(run, () => unfollowedBy(machine, task));
  if (unfollowed.length > 0)
    report(
      `warning: ${task.machine}: the running kernel does not match these kernelArgs: ${unfollowed.join(" ")}; GRUB takes arguments from machine.install.extraKernelArgs of the configuration, and from the image only on Talos 1.12 or newer with machine.install.grubUseUKICmdline`,
    );
}

async function awaitDriver({
  machine,
  task,
  clock,
  guard,
  limits: { verify: limit },
  poll,
}: Run): Promise<void> {
  const end = clock.now() + limit;
  const field = `machines.${task.machine}`;
  const limitText = formatDuration(limit);
  let cri: string | undefined;
  let driverFindings: string[] = [];
  const look = async () => {
    cri = await criProblem(machine);
    driverFindings = await driverProblems(machine, task);
    const problems = [...(cri === undefined ? [] : [cri]), ...driverFindings];
    if (problems.length > 0) await guard.look(end - clock.now());
    return problems.length === 0 ? { done: true } : { not: problems.join(", ") };
  };
  const findingOf = (problem: string): FieldFinding => ({
    field,
    problem: `${problem} (after ${limitText})`,
    why: "pods would get no GPU on this machine",
    remedy: `look at \`talosctl -n ${task.address} dmesg\` and \`talosctl -n ${task.address} services\`, check the card, and the driver's flavour and branch, then run again`,
  });
  await waitOrFail(clock, { limit, poll, look }, (_, last) => [
    ...(cri === undefined ? [] : [withoutPods(cri, limitText, task)]),
    ...(cri === undefined && driverFindings.length === 0 ? [last] : driverFindings).map(findingOf),
  ]);
}

const withoutPods = (
  problem: string,
  limitText: string,
  { machine, address }: UpgradeTask,
): FieldFinding => ({
  field: `machines.${machine}`,
  problem: `${problem} (after ${limitText})`,
  why: "containerd starts no pods there, although Talos may report the machine as ready",
  remedy: `look at \`talosctl -n ${address} services\` and \`talosctl -n ${address} logs cri\`, repair the cause and run again`,
});

/** The stack's kernel arguments that are not on the running kernel's command line. */
async function unfollowedBy(
  machine: Machine,
  { image }: Pick<UpgradeTask, "image">,
): Promise<string[]> {
  if (image.kernelArgs.length === 0) return [];
  const text = await machine.read("/proc/cmdline");
  return text === undefined ? [] : argsMissingIn(image.kernelArgs, text);
}
