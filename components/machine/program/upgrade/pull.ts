import { LimitReached, waitFor } from "../../../clients/clock";
import { CallError, Failure, isTransient, lastLine } from "../../../clients/failure";
import type { Ending } from "../../../clients/machine";
import { pullErrorOf } from "../../../clients/talos/console";
import { type Run, upTo } from "./run";

/** Calls that a pull has time for: one that hangs, on a connection that died in silence, must leave time for another. */
const PULLS = 2;

/** Milliseconds between two looks at what the console says of a pull. */
const LOOKS = 30_000;

/**
 * Pulls before anything is disturbed: a registry that is down must not be found out on a drained node. Talos itself tries again for 20
 * minutes and says why in its console alone (talos v1.13.0, internal/pkg/containers/image/image.go): that is told as soon as it is there, and
 * such a call is not begun again.
 */
export function pull(run: Run): Promise<void> {
  const { task, limits } = run;
  return run.phases.run("pull", `installer ${task.installerImage}, ${upTo(limits.pull)}`, () => pullInstaller(run));
}

async function pullInstaller({ task, machine, clock, report, poll, limits: { pull: limit } }: Run): Promise<void> {
  const { installerImage } = task;
  const end = clock.now() + limit;
  const reason = (): Promise<string | undefined> =>
    machine.console().then(
      (lines) => pullErrorOf(lines, installerImage),
      () => undefined,
    );
  let isReported = false;
  const endingOf = (begun: number): Ending => ({
    every: Math.min(LOOKS, limit / PULLS),
    ends: async () => {
      const why = await reason();
      if (why !== undefined && !isReported)
        report(`pull: Talos tries again, since it could not pull the installer: ${why}`);
      isReported ||= why !== undefined;
      return why === undefined && clock.now() - begun >= limit / PULLS;
    },
  });
  try {
    await waitFor(clock, {
      what: `installer ${installerImage}`,
      limit,
      poll,
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
      report("pull: this release pulls the installer during the upgrade");
      return;
    }
    if (!(error instanceof LimitReached) && !(error instanceof CallError)) throw error;
    throw new Failure({
      field: `machines.${task.machine}`,
      problem: `it could not pull ${installerImage}: ${error.message}`,
      why: "nothing was changed on it, and nothing drained",
      remedy:
        "check that the Image Factory has every extension for this release and that the machine reaches it, then run again",
    });
  }
}
