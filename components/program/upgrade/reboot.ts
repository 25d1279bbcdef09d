import * as semver from "semver";
import { capabilitiesOf } from "../../recipe/facts/talos-release";
import { Failure } from "../../clients/failure";
import type { InstallerPlace, UpgradeApi } from "../../clients/machine";
import type { UpgradeTask } from "../task";
import { bootOnce, onlyByConsole, type StartReboot } from "./boot-once";
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
import { readPodsAgain } from "./webhooks";

/**
 * Ends a boot that Talos has paused, by a reboot into the corrected configuration. Installs no image, because Talos
 * counts the paused boot as failed. When this boot ends, Talos rolls back every unconfirmed upgrade, even one that was
 * installed during the pause (seen on Talos v1.13.0; talos v1.13.0, internal/app/machined/main.go, handle, and
 * revert.go).
 */
export async function leavePause(run: Run, before: Observed): Promise<void> {
  const { task, machine, report } = run;
  const revertsOnReboot = await patiently(run, () => machine.isUnconfirmed());
  run.lacksOwnImage = task.ownImage === true && (revertsOnReboot || !runsImage(before, task));
  if (await patiently(run, () => runsNothing(run)))
    report("drain: skipped, since the machine runs no pods and the Kubernetes API does not answer");
  else await drain(run);
  await readPodsAgain(run);
  const revertText = revertsOnReboot
    ? "; Talos has not confirmed the upgrade, and may roll back"
    : "";
  const start = (): Promise<void> => machine.reboot();
  await rebootBy(
    run,
    `rebooting into the corrected configuration${revertText}`,
    before,
    start,
    ({ staged }) => !staged,
  );
  const after = await observe(run);
  if (after.staged) throw stillStaged(task);
  // A user's own image is recognized by the configuration alone, and the configuration has changed in any case.
  const isOtherSchematic = !task.ownImage && before.schematicId !== after.schematicId;
  if (isOtherSchematic || before.talosVersion !== after.talosVersion)
    report(
      `reboot: the upgrade's boot failed and Talos rolled back: the machine runs ${after.talosVersion} again`,
    );
}

/**
 * The API by which this machine installs the image. LifecycleService ignores `machine.install.extraKernelArgs`, and
 * GRUB then starts the kernel without these arguments (seen on Talos v1.13.0; siderolabs/docs v1.14, upgrading-talos).
 * MachineService, the older API, uses them. `olderUpgradeCall` in facts/data/since.json names the last minor that has
 * the older call.
 */
async function upgradeApi({ machine, task, report }: Run, before: Observed): Promise<UpgradeApi> {
  const api = capabilitiesOf(before.talosVersion).upgradeApi;
  if (api === "legacy" || runsImage(before, task)) return api;
  // The staged configuration may lack arguments that the active one still gives the boot loader.
  const { configuredArgs, bootArgs = [] } = await machine.image();
  if (configuredArgs.length === 0 && bootArgs.length === 0) return api;
  report(
    "precheck: the boot loader reads kernel arguments from machine.install. Only the older upgrade API keeps them, so the program uses that API",
  );
  return "legacy";
}

/**
 * Pulls the installer, drains the node, and boots the machine once into the wanted image and configuration.
 *
 * @returns the state of the machine after the boot.
 */
export async function rebootInto(run: Run, { before, waiting }: Compared): Promise<Observed> {
  const { task, machine, guard } = run;
  const api = await patiently(run, () => upgradeApi(run, before));
  const isInstalled = isSameImage(waiting, task.installerImage);
  const isRun = runsImage(before, task);
  if (!isRun)
    run.report(
      `precheck: the running image stays on the disk next to the new one. ${onlyByConsole}`,
    );
  let place: InstallerPlace = isRun || isInstalled ? "disk" : await pull(run, api);
  await drain(run);
  await readPodsAgain(run);
  const description = (): string => {
    if (isRun) return `rebooting once, ${purposeOf(task, before)}`;
    if (isInstalled) return "rebooting once, into the image that is installed already";
    const evictionText = api === "legacy" ? ", which also evicts the remaining pods" : "";
    return `upgrading through the ${api} API${evictionText}`;
  };
  const start = async (observed: Observed, limit: number): Promise<void> => {
    const installs =
      !runsImage(observed, task) &&
      !isSameImage(await waitingImage(machine, observed.talosVersion), task.installerImage);
    if (!installs) await machine.reboot();
    else {
      if (observed.bootId !== before.bootId) place = await pullInstaller(run, api);
      await machine.upgrade(task.installerImage, place, api, limit);
    }
    run.lacksOwnImage = false;
  };
  await rebootBy(
    run,
    description(),
    before,
    start,
    (observed) => runsImage(observed, task) && !observed.staged,
  );
  const after = await observe(run);
  if (!runsImage(after, task)) throw imageFailure(task, before, after, api, guard.problem);
  if (after.staged) throw stillStaged(task);
  return after;
}

/** Purpose of a reboot without a new image, for messages. */
function purposeOf({ reboots }: UpgradeTask, { staged }: Observed): string {
  if (staged) return "to activate the staged configuration";
  return reboots ? "as requested" : "so that SecurityProfileConfig takes effect";
}

/**
 * Runs the phase `reboot`.
 *
 * @param isDone whether the machine needs no further reboot after it rebooted by itself before the request.
 */
async function rebootBy(
  run: Run,
  description: string,
  before: Observed,
  start: StartReboot,
  isDone: (now: Observed) => boolean,
): Promise<void> {
  const { clock, report, limits } = run;
  await run.phases.run(
    "reboot",
    `${description}; waiting ${upTo(limits.reboot)} for a new boot id`,
    async () => {
      const end = clock.now() + limits.reboot;
      if (await bootOnce(run, before, start, limits.reboot)) return;
      const observed = await observe(run);
      if (isDone(observed)) return;
      report(
        "reboot: the machine rebooted by itself before it accepted the request, so the program requests the reboot again",
      );
      await bootOnce(run, observed, start, end - clock.now());
    },
  );
}

/**
 * Failure for a machine that runs another image than the wanted one after the reboot.
 *
 * @param paused why a boot of the new image did not go on, if the program observed one.
 */
function imageFailure(
  task: UpgradeTask,
  before: Observed,
  after: Observed,
  api: UpgradeApi,
  paused?: string,
): Failure {
  // Only the configuration names a user's own image, and a rollback does not change the configuration.
  const sameImage = task.ownImage || after.schematicId === before.schematicId;
  const rolledBack = semver.eq(after.talosVersion, before.talosVersion) && sameImage;
  const runningText = task.ownImage
    ? after.talosVersion
    : `${after.talosVersion}, schematic ${after.schematicId ?? "none"}`;
  // With the older API, Talos installs after it has accepted the request, and reboots if the installation fails (seen
  // on Talos v1.12.6).
  const isInstalled = paused !== undefined || api === "lifecycle";
  return new Failure({
    field: `machines.${task.machine}`,
    problem: rolledBack
      ? `Talos rolled back${isInstalled ? "" : ", or did not install the image"}: after the reboot the machine runs the old image (${runningText})`
      : `after the reboot the machine runs ${runningText}, not ${task.talosVersion}, ${imageNameOf(task)}`,
    why: rolledBack
      ? `the boot of the new image failed${paused === undefined ? "" : ` (${paused})`}, and Talos then rolls back an upgrade that it has not confirmed` +
        (isInstalled
          ? ""
          : ". Or the installation failed because of an installer error, a power loss or a reset")
      : "another tool changed the machine, or the installer image contains another release than its tag says",
    remedy: `look at \`talosctl -n ${task.address} dmesg\` and the console of that boot, fix the cause, and run again. A drained node stays cordoned until then`,
  });
}

/** Failure for a machine that has rebooted, but whose staged configuration is not active. */
const stillStaged = (task: UpgradeTask): Failure =>
  new Failure({
    field: `machines.${task.machine}`,
    problem: "after the reboot the staged configuration is not the active one",
    why: "another tool staged a configuration meanwhile, or Talos refused the staged configuration at boot",
    remedy: `compare the two configurations that \`talosctl -n ${task.address} get machineconfig -o yaml\` shows, then run again`,
  });
