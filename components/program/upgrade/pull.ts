import { LimitReached, waitFor } from "../../clients/clock";
import { CallError, Failure, isTransient, lastLine } from "../../clients/failure";
import type { Ending, ImagePlace, InstallerPlace, UpgradeApi } from "../../clients/machine";
import { linesSince, pullErrorOf } from "../../clients/talos/console";
import type { UpgradePhase } from "../../recipe/effect/upgrade-phases";
import { patiently, type Run, upTo } from "./run";

/**
 * Number of equal parts of a pull's limit. A call without a result ends after one part, so that a call that hangs on a
 * dead connection leaves time for a second call.
 */
const PULLS = 2;

/** Errors that Talos retries for 20 minutes although they do not go away by themselves (seen on Talos v1.13.0). */
const DISK_IS_FULL = /no space left on device/;

/** Milliseconds between two checks of the console for errors of a pull. */
const LOOKS = 30_000;

/**
 * Pulls the installer before the drain, so that a registry that is down stops the update in time. Talos itself retries
 * for 20 minutes, and writes the reason only to its console (talos v1.13.0, internal/pkg/containers/image/image.go).
 * The program prints this reason, and repeats the pull until the limit. The pull fails at once only if the disk is
 * full.
 */
export function pull(run: Run, api: UpgradeApi): Promise<InstallerPlace> {
  const { task, limits } = run;
  const description = `installer ${task.installerImage}, ${upTo(limits.pull)}`;
  return run.phases.run("pull", description, () => pullInstaller(run, api));
}

/**
 * Pulls the installer, into memory if the disk already has it. A power cut right after a pull leaves the files of the
 * installer empty. Talos does not check the files and does not pull them again. The installer then reports success,
 * although it has replaced the boot loader by an empty file, and the machine boots no image any more. The program
 * cannot remove the files either, if a container that ran during the power cut holds them (seen on Talos v1.13.0).
 */
export async function pullInstaller(run: Run, api: UpgradeApi): Promise<InstallerPlace> {
  const { task, machine, report } = run;
  const isThere =
    api === "lifecycle" && (await patiently(run, () => machine.hasPulled(task.installerImage)));
  if (isThere)
    report(
      "pull: the disk already has this installer, but its files may be incomplete, so the machine pulls the installer into memory",
    );
  const place = isThere ? "memory" : "disk";
  await pullInto(run, place);
  return place;
}

/** An image that a machine pulls, and texts for progress lines and findings. */
interface PullText {
  /** First word of progress lines. */
  phase: UpgradePhase;
  /** E.g. `installer`. */
  noun: string;
  image: string;
  place: ImagePlace;
  /** Progress line for a Talos release that cannot pull this image in advance. */
  unimplemented: string;
  /** What a failure means for the machine. */
  why: string;
  remedy: string;
}

const pullInto = (run: Run, place: InstallerPlace): Promise<void> =>
  pullImage(
    run,
    {
      phase: "pull",
      noun: "installer",
      image: run.task.installerImage,
      place,
      unimplemented: "this Talos release pulls the installer during the upgrade",
      why: "the upgrade needs this installer, so the update stopped before the drain and the reboot of this upgrade",
      remedy:
        "check that the Image Factory has every extension for this release and that the machine reaches the Factory, then run again",
    },
    run.limits.pull,
  );

/** The parts of a run that a pull needs. */
export type Puller = Pick<Run, "machine" | "clock" | "report" | "poll"> & {
  task: Pick<Run["task"], "machine" | "address">;
};

/**
 * Pulls an image onto the machine, and repeats the call until the limit.
 *
 * @throws Failure if the machine could not pull the image.
 */
export async function pullImage(
  { task, machine, clock, report, poll }: Puller,
  { phase, noun, image, place, unimplemented, why: whyNeeded, remedy }: PullText,
  limit: number,
): Promise<void> {
  const field = `machines.${task.machine}`;
  const end = clock.now() + limit;
  const consoleLines = (): Promise<string[]> => machine.console().catch(() => []);
  // Errors of an earlier run count no more: since then, the user may have freed the disk.
  const earlierLines = await consoleLines();
  const pullError = async (): Promise<string | undefined> =>
    pullErrorOf(linesSince(earlierLines, await consoleLines()), image);
  let isReported = false;
  const endingOf = (begun: number): Ending => ({
    every: Math.min(LOOKS, limit / PULLS),
    ends: async () => {
      const pullReason = await pullError();
      if (pullReason !== undefined && !isReported)
        report(`${phase}: Talos could not pull the ${noun}, and retries: ${pullReason}`);
      isReported ||= pullReason !== undefined;
      return pullReason === undefined
        ? clock.now() - begun >= limit / PULLS
        : DISK_IS_FULL.test(pullReason);
    },
  });
  try {
    await waitFor(clock, {
      subject: `${noun} ${image}`,
      limit,
      poll,
      look: async () => {
        try {
          await machine.pull(
            image,
            place,
            Math.max(end - clock.now(), 1_000),
            endingOf(clock.now()),
          );
          return { done: true };
        } catch (error) {
          if (!isTransient(error)) throw error;
          const pullReason = await pullError();
          if (pullReason !== undefined && DISK_IS_FULL.test(pullReason))
            throw new Failure({
              field,
              problem: `its disk has no room for the ${noun}: ${pullReason}`,
              why: "Talos would retry this for 20 minutes, so the update stopped before the drain and the reboot of this upgrade",
              remedy: `free some space (\`talosctl -n ${task.address} usage /var\` shows what uses it), or enlarge the volume EPHEMERAL, then run again`,
            });
          const silenceText =
            "and Talos reports no error: the registry does not answer the machine, or sends slowly";
          return { not: pullReason ?? `${lastLine(error)}, ${silenceText}` };
        }
      },
    });
  } catch (error) {
    if (error instanceof CallError && error.problem === "unimplemented") {
      report(`${phase}: ${unimplemented}`);
      return;
    }
    if (!(error instanceof LimitReached) && !(error instanceof CallError)) throw error;
    throw new Failure({
      field,
      problem: `the machine could not pull ${image}: ${error.message}`,
      why: whyNeeded,
      remedy,
    });
  }
}
