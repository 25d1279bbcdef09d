import * as semver from "semver";
import { splitKernelArgs } from "../../../recipe/machine/kernel-args";
import { formatDuration } from "../../../recipe/rules/duration";
import type { BootGuard } from "../seen/boot-guard";
import { LimitReached, waitFor, type Clock } from "../../../clients/clock";
import { Failure } from "../../../clients/failure";
import { isMoreThanInstallation, isStaged } from "../../../clients/talos/configuration-text";
import type { Machine } from "../../../clients/machine";
import { driverProblems } from "../seen/driver";
import type { UpgradeTask } from "../task";

/** What a machine runs. */
export interface Observed {
  talosVersion: string;
  schematicId: string | undefined;
  /** Whether the next boot brings another configuration. */
  staged: boolean;
  /** Whether of that configuration more differs than what an installer alone reads. */
  stagedForBoot: boolean;
}

/** Asks a machine what it runs. */
export async function observe(machine: Machine): Promise<Observed> {
  const configurations = await machine.configurations();
  const staged = isStaged(configurations);
  return {
    talosVersion: await machine.version(),
    schematicId: await machine.schematic(),
    staged,
    stagedForBoot: staged && isMoreThanInstallation(configurations),
  };
}

/** Whether the machine runs the wanted image: release and schematic, since either alone may be right by chance. */
export function runsImage(observed: Observed, task: UpgradeTask): boolean {
  const runsRelease = semver.eq(observed.talosVersion, task.talosVersion);
  return runsRelease && observed.schematicId === task.schematicId;
}

/** Kernel arguments of the stack that the kernel's command line does not follow. */
export async function unfollowedArgs(machine: Machine, { image }: Pick<UpgradeTask, "image">): Promise<string[]> {
  if (image.kernelArgs.length === 0) return [];
  const text = await machine.read("/proc/cmdline");
  if (text === undefined) return [];
  const given = splitKernelArgs(text);
  const wanted = image.kernelArgs.flatMap(splitKernelArgs);
  return wanted.filter((arg) => {
    // `-x` and `-x=1` take away what Talos brings, and are themselves on no command line (go-procfs v0.1.2, procfs/cmdline.go, AppendAll).
    if (!/^-./.test(arg)) return !given.includes(arg);
    const gone = arg.slice(1);
    const isGone = (word: string): boolean => word === gone || (!gone.includes("=") && word.startsWith(`${gone}=`));
    return given.some((word) => isGone(word) && !wanted.includes(word));
  });
}

/** What the wait for the driver needs. */
export interface Verifying {
  machine: Machine;
  task: UpgradeTask;
  clock: Clock;
  guard: BootGuard;
  /** Milliseconds. */
  limit: number;
  /** Milliseconds. */
  poll: number;
}

/** Waits until the driver is as wanted. */
export async function verifyDriver({ machine, task, clock, guard, limit, poll }: Verifying): Promise<void> {
  const end = clock.now() + limit;
  let problems: string[] = [];
  try {
    await waitFor(clock, {
      what: `the driver of ${task.machine}`,
      limit,
      poll,
      look: async () => {
        problems = await driverProblems(machine, task);
        if (problems.length > 0) await guard.look(end - clock.now());
        return problems.length === 0 ? { done: true } : { not: problems.join(", ") };
      },
    });
  } catch (error) {
    if (!(error instanceof LimitReached)) throw error;
    throw new Failure(
      (problems.length > 0 ? problems : [error.missing]).map((problem) => ({
        field: `machines.${task.machine}`,
        problem: `${problem} (after ${formatDuration(limit)})`,
        why: "pods would get no GPU there",
        remedy: `look at \`talosctl -n ${task.address} dmesg\` and \`services\`, check the card, the modules' flavour and branch, then run again`,
      })),
    );
  }
}

/**
 * Says what is wrong when the machine came back with another image than the wanted one.
 *
 * @param paused why a boot of the new image did not go on, if that was seen.
 */
export function imageFailure(task: UpgradeTask, before: Observed, after: Observed, paused?: string): Failure {
  const rolledBack = semver.eq(after.talosVersion, before.talosVersion) && after.schematicId === before.schematicId;
  const now = `${after.talosVersion}, schematic ${after.schematicId ?? "none"}`;
  return new Failure([
    {
      field: `machines.${task.machine}`,
      problem: rolledBack
        ? `Talos rolled back: after the reboot it runs the old image (${now})`
        : `after the reboot it runs another image (${now}) than ${task.talosVersion}, schematic ${task.schematicId}`,
      why: rolledBack
        ? paused === undefined
          ? "the new image did not boot, so the boot loader went back to the other one"
          : `the boot of the new image failed (${paused}), and Talos then takes back what it has not confirmed`
        : "somebody else changes the machine, or the installer image is not what its name says",
      remedy: `look at \`talosctl -n ${task.address} dmesg\` and the console of that boot, and run again when the cause is gone; its node stays cordoned until then if it was drained`,
    },
  ]);
}

/** The reboot came, and the configuration that it was for is not the active one. */
export function stillStaged(task: UpgradeTask): Failure {
  return new Failure([
    {
      field: `machines.${task.machine}`,
      problem: "after the reboot the staged configuration is not the active one",
      why: "somebody else staged a configuration meanwhile, or Talos refused it at boot",
      remedy: `compare the two that \`talosctl -n ${task.address} get machineconfig -o yaml\` shows, then run again`,
    },
  ]);
}
