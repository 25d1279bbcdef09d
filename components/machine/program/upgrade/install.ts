import { formatDuration } from "../../../recipe/rules/duration";
import type { BootGuard } from "../seen/boot-guard";
import { LimitReached, waitFor, type Clock } from "../../../clients/clock";
import { CallError, Failure, isTransient, lastLine } from "../../../clients/failure";
import type { Cluster, Ending, Machine } from "../../../clients/machine";
import type { AskedNode } from "../../../clients/kubernetes/asked-cluster";
import type { Report } from "../progress";
import { pullErrorOf } from "../../../clients/talos/console";
import type { UpgradeTask } from "../task";

/** Times that the reboot is asked for when the connection drops and the machine is seen to have gone on as before. */
const STARTS = 3;

/** What the upgrade works with. */
export interface Workbench {
  machine: Machine;
  /** The other control planes of the stack by address. */
  others: Map<string, Machine>;
  /** Kubernetes; undefined without credentials. */
  cluster: Cluster | undefined;
  /** Nodes of the cluster; undefined without credentials: then nobody asks whether the machine is the node of its name. */
  nodes: (() => Promise<AskedNode[]>) | undefined;
  /** Version of talosctl. */
  clientVersion: string;
  clock: Clock;
  report: Report;
  /** Told before the machine or its node is changed: from then on the run is brought to its end. Default: nobody is told. */
  touches?: () => void;
}

/** Calls that a pull has time for: one that hangs, on a connection that died in silence, must leave time for another. */
const PULLS = 2;

/** Milliseconds between two looks at what the console says of a pull. */
const LOOKS = 30_000;

/**
 * Pulls before anything is disturbed: a registry that is down must not be found out on a drained node. Talos itself tries again for 20
 * minutes and says why in its console alone (talos v1.13.0, internal/pkg/containers/image/image.go): that is told as soon as it is there, and
 * such a call is not begun again.
 */
export async function pull(task: UpgradeTask, bench: Workbench, limit: number): Promise<void> {
  const { machine, clock, report } = bench;
  const { installerImage } = task;
  const end = clock.now() + limit;
  const reason = (): Promise<string | undefined> =>
    machine.console().then(
      (lines) => pullErrorOf(lines, installerImage),
      () => undefined,
    );
  let told = false;
  const endingOf = (begun: number): Ending => ({
    every: Math.min(LOOKS, limit / PULLS),
    ends: async () => {
      const why = await reason();
      if (why !== undefined && !told) report(`pull: Talos tries again, since it could not pull the installer: ${why}`);
      told ||= why !== undefined;
      return why === undefined && clock.now() - begun >= limit / PULLS;
    },
  });
  try {
    await waitFor(clock, {
      what: `installer ${installerImage}`,
      limit,
      poll: task.pollSeconds * 1_000,
      look: async () => {
        try {
          await machine.pull(installerImage, Math.max(end - clock.now(), 1_000), endingOf(clock.now()));
          return { done: true };
        } catch (error) {
          if (!isTransient(error)) throw error;
          const silence = "and Talos tells of no error: the registry does not answer it, or sends slowly";
          return { not: (await reason()) ?? `${lastLine(error)}, ${silence}` };
        }
      },
    });
  } catch (error) {
    if (error instanceof CallError && error.problem === "unimplemented") {
      bench.report("pull: this release pulls the installer during the upgrade");
      return;
    }
    if (!(error instanceof LimitReached) && !(error instanceof CallError)) throw error;
    throw new Failure([
      {
        field: `machines.${task.machine}`,
        problem: `it could not pull ${task.installerImage}: ${error.message}`,
        why: "nothing was changed on it, and nothing drained",
        remedy:
          "check that the Image Factory has every extension for this release and that the machine reaches it, then run again",
      },
    ]);
  }
}

/** What a reboot needs. */
export interface Rebooting {
  task: UpgradeTask;
  machine: Machine;
  clock: Clock;
  report: Report;
  guard: BootGuard;
  /** Asks for it, within so many milliseconds. */
  start: (limit: number) => Promise<void>;
  bootId: string;
  limit: number;
  /** Milliseconds that a machine which runs has to get ready. */
  settling: number;
  poll: number;
}

/**
 * Starts the reboot and waits until the machine runs after it and is ready. Talos tells neither whether it went well nor when, and confirms
 * an upgrade only then: before, a boot that fails takes it back (talos v1.13.0, controllers/runtime/
 * drop_upgrade_fallback.go). One that does not get ready is left to the phases that look at what it lacks.
 *
 * @returns whether the machine took it on: one whose boot is paused may begin again by itself before that, and one may lose its power.
 */
export async function reboot(rebooting: Rebooting): Promise<boolean> {
  const { task, machine, clock, report, guard, start, bootId, limit, settling, poll } = rebooting;
  const end = clock.now() + limit;
  let drops = 0;
  let accepted = false;
  let runsSince: number | undefined;
  try {
    return await waitFor(clock, {
      what: `machine ${task.machine} to run after the reboot`,
      limit,
      poll,
      look: async () => {
        if ((await machine.bootId()) !== bootId) {
          const { stage, ready, unmet } = await machine.status();
          const lacks = unmet.length > 0 ? `: ${unmet.join(", ")}` : "";
          if (stage === "running") {
            runsSince ??= clock.now();
            if (ready) return { done: accepted };
            if (clock.now() + poll < Math.min(runsSince + settling, end)) return { not: `not ready${lacks}` };
            report(
              `warning: ${task.machine}: it runs and is not ready${lacks}; Talos confirms an upgrade only then, and a boot that fails before takes it back`,
            );
            return { done: accepted };
          }
          const stopped = await guard.look(end - clock.now());
          return { not: stopped ?? `booted, stage ${stage}${lacks}` };
        }
        if (accepted) return { not: "the boot id has not changed" };
        const { stage } = await machine.status();
        // A paused boot gives way to a reboot or an upgrade (talos, internal/app/machined/pkg/runtime/sequencer.go).
        if (stage !== "running" && (await guard.paused()) === undefined) return { not: `stage ${stage}` };
        if (drops >= STARTS)
          throw new CallError("refused", `the connection dropped ${STARTS} times while it was asked`);
        try {
          await start(Math.max(end - clock.now(), poll));
          accepted = true;
        } catch (error) {
          if (!isTransient(error)) throw error;
          if ((error as CallError).problem === "unreachable") drops++;
          report(`reboot: the machine has not accepted the request yet (${lastLine(error)}); checking the machine`);
        }
        return { not: "the boot id has not changed" };
      },
    });
  } catch (error) {
    if (!(error instanceof LimitReached) && !(error instanceof CallError)) throw error;
    throw new Failure([
      {
        field: `machines.${task.machine}`,
        problem:
          error instanceof LimitReached
            ? `it did not run within ${formatDuration(limit)} after the reboot was asked for (last: ${error.missing})`
            : `it was not rebooted: ${error.message}`,
        why: "whether it runs the wanted image is not known; its node stays cordoned if it was drained",
        remedy: `look at \`talosctl -n ${task.address} dmesg\`, repair the cause and run again: the program goes on from what it finds`,
      },
    ]);
  }
}
