import { LimitReached, waitFor } from "../../clients/clock";
import { CallError, Failure, isTransient, lastLine } from "../../clients/failure";
import type { Ending, InstallerPlace, UpgradeApi } from "../../clients/machine";
import { pullErrorOf } from "../../clients/talos/console";
import { patiently, type Run, upTo } from "./run";

/** Calls that a pull has time for: one that hangs on a dead connection must leave time for another. */
const PULLS = 2;

/** Errors that Talos retries for 20 minutes although they do not go away by themselves (seen on Talos v1.13.0). */
const DISK_IS_FULL = /no space left on device/;

/** Milliseconds between two looks at what the console says of a pull. */
const LOOKS = 30_000;

/**
 * Pulls before anything is disturbed: a registry that is down must not be found out on a drained node. Talos itself
 * tries again for 20 minutes and says why in its console alone (talos v1.13.0,
 * internal/pkg/containers/image/image.go): an error is reported at once, and such a call is not repeated.
 */
export function pull(run: Run, api: UpgradeApi): Promise<InstallerPlace> {
  const { task, limits } = run;
  const what = `installer ${task.installerImage}, ${upTo(limits.pull)}`;
  return run.phases.run("pull", what, () => pullInstaller(run, api));
}

/**
 * The work of that phase. If the machine's power is cut, files of a just pulled installer are empty. Talos does not
 * check them or pull them again: its installer reports success, but has replaced the good boot loader by an empty
 * one. Then the machine boots no image any more. A container that was running keeps them, so they cannot be removed
 * either (seen on Talos v1.13.0). So the update keeps existing images, and pulls the installer into memory.
 */
export async function pullInstaller(run: Run, api: UpgradeApi): Promise<InstallerPlace> {
  const { task, machine, report } = run;
  const isThere =
    api === "lifecycle" && (await patiently(run, () => machine.hasPulled(task.installerImage)));
  if (isThere)
    report(
      "pull: it was pulled before, maybe not to the end, so it is pulled into the machine's memory",
    );
  const place = isThere ? "memory" : "disk";
  await pullInto(run, place);
  return place;
}

async function pullInto(
  { task, machine, clock, report, poll, limits: { pull: limit } }: Run,
  place: InstallerPlace,
): Promise<void> {
  const field = `machines.${task.machine}`;
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
      return why === undefined ? clock.now() - begun >= limit / PULLS : DISK_IS_FULL.test(why);
    },
  });
  try {
    await waitFor(clock, {
      what: `installer ${installerImage}`,
      limit,
      poll,
      look: async () => {
        try {
          await machine.pull(
            installerImage,
            place,
            Math.max(end - clock.now(), 1_000),
            endingOf(clock.now()),
          );
          return { done: true };
        } catch (error) {
          if (!isTransient(error)) throw error;
          const why = await reason();
          if (why !== undefined && DISK_IS_FULL.test(why))
            throw new Failure({
              field,
              problem: `its disk has no room for the installer: ${why}`,
              why: "nothing was changed on it, and nothing drained, and Talos itself would try for 20 minutes",
              remedy: `free some room (\`talosctl -n ${task.address} usage /var\` says what takes it), or give the volume EPHEMERAL more, then run again`,
            });
          const silence =
            "and Talos reports no error: the registry does not answer it, or sends slowly";
          return { not: why ?? `${lastLine(error)}, ${silence}` };
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
      field,
      problem: `it could not pull ${installerImage}: ${error.message}`,
      why: "nothing was changed on it, and nothing drained",
      remedy:
        "check that the Image Factory has every extension for this release and that the machine reaches it, then run again",
    });
  }
}
