import * as semver from "semver";
import { capabilitiesOf } from "../../recipe/facts/talos-release";
import { formatDuration } from "../../recipe/rules/duration";
import { waitOrFail } from "../../clients/clock";
import {
  CallError,
  Failure,
  isTransient,
  lastLine,
  type FieldFinding,
} from "../../clients/failure";
import type { InstallerPlace, UpgradeApi } from "../../clients/machine";
import type { UpgradeTask } from "../task";
import {
  type Compared,
  imageNameOf,
  isSameImage,
  observe,
  type Observed,
  runsImage,
  waitingImage,
} from "./compare";
import { drain, runsNothing } from "./drain";
import { pull, pullInstaller } from "./pull";
import { patiently, type Run, upTo } from "./run";

/** Times that the reboot is asked for when the connection drops and the machine is seen to have gone on as before. */
const STARTS = 3;

/**
 * Ends a paused boot by a reboot into the corrected configuration that waits. Nothing is installed in the pause:
 * Talos counts the boot as failed. At its end it rolls back an unconfirmed upgrade, even a new one (seen on Talos
 * v1.13.0; talos v1.13.0, internal/app/machined/main.go, handle, and revert.go).
 */
export async function leavePause(run: Run, before: Observed): Promise<void> {
  const { task, machine, report } = run;
  const takesBack = await patiently(run, () => machine.isUnconfirmed());
  run.lacksOwnImage = task.ownImage === true && (takesBack || !runsImage(before, task));
  if (await patiently(run, () => runsNothing(run)))
    report("drain: skipped, since the machine runs no pods and the Kubernetes API does not answer");
  else await drain(run);
  const back = takesBack ? "; Talos has not confirmed the upgrade, and may roll back" : "";
  const start = (): Promise<void> => machine.reboot();
  await rebootBy(
    run,
    `rebooting into the corrected configuration${back}`,
    before,
    start,
    ({ staged }) => !staged,
  );
  const after = await observe(run);
  if (after.staged) throw stillStaged(task);
  // Only the configuration shows which image of the user's own runs, and it has changed in any case.
  const isOther = !task.ownImage && before.schematicId !== after.schematicId;
  if (isOther || before.talosVersion !== after.talosVersion)
    report(
      `reboot: the upgrade's boot failed and Talos rolled back; it runs ${after.talosVersion} again`,
    );
}

/**
 * Talos goes back by itself where its own init came up and the boot then failed. The boot loaders count no boots: one
 * whose kernel does not come up is begun again and again (talos v1.13.0, bootloader/sdboot/sdboot.go, setup, and
 * grub/encode.go).
 */
const onlyByConsole =
  "Where an image's kernel does not come up, Talos cannot go back by itself: an operator at its console chooses the other entry of the boot menu";

/**
 * By what an image is installed. LifecycleService does not pass on `machine.install.extraKernelArgs`, and GRUB then
 * starts the kernel without them (seen on Talos v1.13.0; siderolabs/docs v1.14, upgrading-talos); the older call does
 * (`olderUpgradeCall` of facts/data/since.json has the last minor with it).
 */
async function upgradeApi({ machine, task, report }: Run, before: Observed): Promise<UpgradeApi> {
  const api = capabilitiesOf(before.talosVersion).upgradeApi;
  if (api === "legacy" || runsImage(before, task)) return api;
  const { configuredArgs } = await machine.image();
  if (configuredArgs.length === 0) return api;
  report(
    "precheck: its boot loader takes kernel arguments from machine.install, which only the older upgrade call keeps",
  );
  return "legacy";
}

/**
 * One boot into the wanted image and configuration: the installer pulled and the node drained before it.
 *
 * @returns what the machine runs then.
 */
export async function rebootInto(run: Run, { before, waiting }: Compared): Promise<Observed> {
  const { task, machine, guard } = run;
  const api = await patiently(run, () => upgradeApi(run, before));
  const isInstalled = isSameImage(waiting, task.installerImage);
  const isRun = runsImage(before, task);
  if (!isRun)
    run.report(`precheck: the running image stays in addition to the new one. ${onlyByConsole}`);
  let place: InstallerPlace = isRun || isInstalled ? "disk" : await pull(run, api);
  await drain(run);
  const doing = (): string => {
    if (isRun) return `rebooting once, ${purposeOf(task, before)}`;
    if (isInstalled) return "rebooting once, into the image that is installed already";
    const evictions = api === "legacy" ? ", in which Talos itself evicts pods that are left" : "";
    return `upgrading through the ${api} API${evictions}`;
  };
  const start = async (now: Observed, limit: number): Promise<void> => {
    const installs =
      !runsImage(now, task) &&
      !isSameImage(await waitingImage(machine, now.talosVersion), task.installerImage);
    if (!installs) await machine.reboot();
    else {
      if (now.bootId !== before.bootId) place = await pullInstaller(run, api);
      await machine.upgrade(task.installerImage, place, api, limit);
    }
    run.lacksOwnImage = false;
  };
  await rebootBy(run, doing(), before, start, (now) => runsImage(now, task) && !now.staged);
  const after = await observe(run);
  if (!runsImage(after, task)) throw imageFailure(task, before, after, api, guard.problem);
  if (after.staged) throw stillStaged(task);
  return after;
}

/** Purpose of a reboot without a new image. */
function purposeOf({ reboots }: UpgradeTask, { staged }: Observed): string {
  if (staged) return "to activate the staged configuration";
  return reboots ? "as asked" : "so that the configuration in force takes effect";
}

/**
 * The phase of a reboot.
 *
 * @param isDone whether nothing is left to reboot for, where the machine began again by itself before it was asked.
 */
async function rebootBy(
  run: Run,
  doing: string,
  before: Observed,
  start: (now: Observed, limit: number) => Promise<void>,
  isDone: (now: Observed) => boolean,
): Promise<void> {
  const { clock, report, limits } = run;
  await run.phases.run(
    "reboot",
    `${doing}; waiting ${upTo(limits.reboot)} for a new boot id`,
    async () => {
      const end = clock.now() + limits.reboot;
      if (await bootOnce(run, before, start, limits.reboot)) return;
      const now = await observe(run);
      if (isDone(now)) return;
      report(
        "reboot: the machine began again before it took the request on; it is asked once more",
      );
      await bootOnce(run, now, start, end - clock.now());
    },
  );
}

/**
 * Starts the reboot and waits until the machine runs after it and is ready. Talos tells neither whether it went well
 * nor when, and confirms an upgrade only then: before, a boot that fails takes it back (talos v1.13.0,
 * controllers/runtime/ drop_upgrade_fallback.go). One that does not get ready is left to the phases that look at what
 * it lacks.
 *
 * @param before what the machine was seen to run; a boot that it began since then was its own.
 * @param start asks for it, within so many milliseconds.
 * @returns whether the machine took it on: one whose boot is paused may begin again by itself before that, and one
 * may lose its power.
 */
async function bootOnce(
  run: Run,
  before: Observed,
  start: (now: Observed, limit: number) => Promise<void>,
  limit: number,
): Promise<boolean> {
  const { task, machine, clock, report, guard, poll, limits } = run;
  const { bootId } = before;
  const end = clock.now() + limit;
  let drops = 0;
  let accepted = false;
  let runsSince: number | undefined;
  /** Whether it was gone when it was last asked, after it had taken the reboot on. */
  let gone = false;
  const look = async () => {
    gone = accepted;
    const now = await machine.bootId();
    gone = false;
    if (now !== bootId) {
      const { stage, ready, unmet } = await machine.status();
      const lacks = unmet.length > 0 ? `: ${unmet.join(", ")}` : "";
      if (stage === "running") {
        runsSince ??= clock.now();
        if (ready) return { done: accepted };
        if (clock.now() + poll < Math.min(runsSince + limits.verify, end))
          return { not: `not ready${lacks}` };
        report(
          `warning: ${task.machine}: it runs but is not ready${lacks}; Talos confirms an upgrade once the machine is ready, and rolls back if a boot fails before that`,
        );
        return { done: accepted };
      }
      const stopped = await guard.look(end - clock.now());
      return { not: stopped ?? `booted, stage ${stage}${lacks}` };
    }
    if (accepted) return { not: "the boot id has not changed" };
    const { stage } = await machine.status();
    // A paused boot gives way to a reboot or an upgrade (talos, internal/app/machined/pkg/runtime/sequencer.go).
    if (stage !== "running" && (await guard.paused()) === undefined)
      return { not: `stage ${stage}` };
    if (drops >= STARTS)
      throw new CallError("refused", `the connection dropped ${STARTS} times while it was asked`);
    try {
      await start(before, Math.max(end - clock.now(), poll));
      accepted = true;
    } catch (error) {
      if (!isTransient(error)) throw error;
      if ((error as CallError).problem === "unreachable") drops++;
      report(
        `reboot: the machine has not accepted the request yet (${lastLine(error)}); checking the machine`,
      );
    }
    return { not: "the boot id has not changed" };
  };
  const failed = (problem: string): FieldFinding => ({
    field: `machines.${task.machine}`,
    problem,
    why: "it is unknown whether it runs the wanted image; its node stays cordoned if it was drained",
    remedy:
      gone && !runsImage(before, task)
        ? `look at its console. ${onlyByConsole}; then \`talosctl -n ${task.address} rollback\` makes that the default again, and run again`
        : `look at ${gone ? "its console" : `\`talosctl -n ${task.address} dmesg\``}, repair the cause and run again: the program goes on from what it finds`,
  });
  return waitOrFail(
    clock,
    { limit, poll, look },
    (_, last) =>
      failed(
        `it did not run within ${formatDuration(limit)} after the reboot was asked for (last: ${last})`,
      ),
    (message) => failed(`it was not rebooted: ${message}`),
  );
}

/**
 * Finding for a machine that came back with an image other than the wanted one.
 *
 * @param paused why a boot of the new image did not go on, if that was seen.
 */
function imageFailure(
  task: UpgradeTask,
  before: Observed,
  after: Observed,
  api: UpgradeApi,
  paused?: string,
): Failure {
  // The configuration, which names an image of the user's own, is no part of the image that Talos takes back.
  const sameImage = task.ownImage || after.schematicId === before.schematicId;
  const rolledBack = semver.eq(after.talosVersion, before.talosVersion) && sameImage;
  const now = task.ownImage
    ? after.talosVersion
    : `${after.talosVersion}, schematic ${after.schematicId ?? "none"}`;
  // By the older API Talos installs after it has taken the request on, and reboots where that fails (seen on Talos
  // v1.12.6).
  const isInstalled = paused !== undefined || api === "lifecycle";
  return new Failure({
    field: `machines.${task.machine}`,
    problem: rolledBack
      ? `Talos rolled back${isInstalled ? "" : ", or did not come to install the image"}: after the reboot it runs the old image (${now})`
      : `after the reboot it runs another image (${now}) than ${task.talosVersion}, ${imageNameOf(task)}`,
    why: rolledBack
      ? `the boot of the new image failed${paused === undefined ? "" : ` (${paused})`}, and Talos then takes back what it has not confirmed` +
        (isInstalled
          ? ""
          : "; or it was not installed: its installer failed, or the machine lost its power or was reset")
      : "another tool changes the machine, or the installer image is not what its name says",
    remedy: `look at \`talosctl -n ${task.address} dmesg\` and the console of that boot, and run again when the cause is gone; its node stays cordoned until then if it was drained`,
  });
}

/** The reboot came, and the configuration that it was for is not the active one. */
const stillStaged = (task: UpgradeTask): Failure =>
  new Failure({
    field: `machines.${task.machine}`,
    problem: "after the reboot the staged configuration is not the active one",
    why: "another tool staged a configuration meanwhile, or Talos refused it at boot",
    remedy: `compare the two that \`talosctl -n ${task.address} get machineconfig -o yaml\` shows, then run again`,
  });
