import * as semver from "semver";
import { changedParts } from "../../recipe/effect/parts";
import { waitsForBoot, type UpdateEffect, updateEffectOf } from "../../recipe/effect/update-effect";
import { capabilitiesOf } from "../../recipe/facts/talos-release";
import { installImage, isStaged } from "../../clients/talos/configuration-text";
import { waitingImageOf } from "../../clients/talos/console";
import type { Machine } from "../../clients/talos/talos-machine";
import { criProblem, waitsForSandboxd } from "../seen/sandbox";
import type { UpgradeTask } from "../task";
import { reach } from "./reach";
import { patiently, type Run } from "./run";

/** Release, image and configuration of a running machine. */
export interface Observed {
  /**
   * ID of the boot. The program reads it before the other fields. If the machine reboots in between, the other fields
   * are from the next boot.
   */
  bootId: string;
  talosVersion: string;
  schematicId: string | undefined;
  /** Whether the next boot uses a changed configuration. */
  staged: boolean;
  /** Parts of the configuration that change at the next boot. */
  stagedParts: string[];
  /** Whether workload isolation is in the active configuration, but takes effect only at the next boot. */
  isolationWaits: boolean;
}

/**
 * Asks a machine for its release, image and configuration. A user's own image has no schematic. The machine counts as
 * running this image if its active configuration names it, because that configuration becomes active at the reboot of
 * the upgrade. `lacksOwnImage` records an exception. Later phases check modules, driver and services.
 */
export function observe(run: Run): Promise<Observed> {
  const { machine, task } = run;
  return patiently(run, async () => {
    const bootId = await machine.bootId(); // read first, so that a boot in between is noticed
    const configurations = await machine.configurations();
    const staged = isStaged(configurations);
    const isNamed = installImage(configurations.active ?? "") === task.installerImage;
    const runsOwn = task.ownImage && isNamed && !run.lacksOwnImage;
    return {
      bootId,
      talosVersion: await machine.version(),
      schematicId: runsOwn ? task.schematicId : await machine.schematic(),
      staged,
      stagedParts: staged
        ? changedParts(configurations.active ?? "", configurations.persistent ?? "")
        : [],
      isolationWaits: await waitsForSandboxd(machine, configurations.active ?? ""),
    };
  });
}

/** The wanted image, for messages. */
export const imageNameOf = ({ ownImage, installerImage, schematicId }: UpgradeTask): string =>
  ownImage ? installerImage : `schematic ${schematicId}`;

/** Whether the machine runs the wanted image: both release and schematic must agree. */
export function runsImage({ talosVersion, schematicId }: Observed, task: UpgradeTask): boolean {
  return semver.eq(talosVersion, task.talosVersion) && schematicId === task.schematicId;
}

/**
 * Image that is installed and boots next, if Talos reports one. No further installation may follow, because it would
 * keep this image and overwrite the running one (seen on Talos v1.13.0 with systemd-boot; talos v1.13.0,
 * bootloader/sdboot/sdboot.go, Upgrade, and bootloader/grub/boot_label.go, flip). The disk would then have no image
 * that is known to boot.
 */
export const waitingImage = async (
  machine: Machine,
  running: string,
): Promise<string | undefined> =>
  capabilitiesOf(running).upgradeApi === "legacy"
    ? undefined
    : waitingImageOf(await machine.installationLog());

/** Whether two references name the same image of the Image Factory, even through different mirrors. */
export function isSameImage(a: string | undefined, b: string): boolean {
  const last = (reference: string): string => reference.split("/").slice(-2).join("/");
  return a !== undefined && last(a) === last(b);
}

/**
 * State of a machine compared with the stack: its running image, the kind of update that it needs, and the image that
 * boots next.
 */
export interface Compared {
  before: Observed;
  effect: UpdateEffect;
  /** Whether the machine's image or configuration differs from the stack. */
  differs: boolean;
  /** Whether Talos has paused the machine's boot. */
  paused: boolean;
  waiting: string | undefined;
}

/**
 * Compares the machine with the stack: its running image, the image and configuration of its next boot, the kind of
 * update that it needs, and whether its boot is still paused.
 *
 * @param paused why Talos has paused the machine's boot; undefined if the boot is not paused.
 */
export async function compare(run: Run, paused: string | undefined): Promise<Compared> {
  const { task, machine, guard, report } = run;
  const plannedText = `wanted ${task.talosVersion}, ${task.ownImage ? task.installerImage : `schematic ${task.schematicId.slice(0, 12)}`}`;
  const before = await run.phases.run("compare", plannedText, () => observe(run));
  if (paused !== undefined) {
    if (!before.staged) {
      if ((await patiently(run, () => guard.pauseReason())) !== undefined)
        throw await guard.failure(paused);
      // The machine has rebooted by itself meanwhile, into a corrected configuration.
      return compare(run, await reach(run, true));
    }
    report(
      `reach: ${paused}; a corrected configuration is staged, so the program reboots the machine into it`,
    );
  }
  const gpu = task.modules.length > 0;
  const differences = {
    image: !runsImage(before, task),
    configuration: before.staged,
    boot: before.stagedParts.some((part) => waitsForBoot(part, before.talosVersion, gpu)),
  };
  const plannedEffect = updateEffectOf(differences);
  const effect =
    plannedEffect === "reboot" || !(await waitsForSandbox(run, before, plannedEffect))
      ? plannedEffect
      : "reboot";
  const waiting = await patiently(run, () => waitingImage(machine, before.talosVersion));
  if (effect === "none" && waiting !== undefined && !isSameImage(waiting, task.installerImage))
    report(
      `warning: ${task.machine}: the next boot starts a different image, which is already installed: ${waiting}`,
    );
  return {
    before,
    effect,
    differs: plannedEffect !== "none",
    paused: paused !== undefined,
    waiting,
  };
}

/**
 * Whether the machine must reboot before its configuration changes. This is so if workload isolation takes effect only
 * at the next boot, because a restarted containerd does not come up before that boot. If the update changes nothing and
 * containerd is up, the function only reports this.
 */
async function waitsForSandbox(
  run: Run,
  before: Observed,
  plannedEffect: UpdateEffect,
): Promise<boolean> {
  const { task, machine, report } = run;
  if (!before.isolationWaits) return false;
  const problem = await patiently(run, () => criProblem(machine));
  const problemText =
    "containerd cannot restart until the next boot activates the machine's SecurityProfileConfig";
  if (plannedEffect === "none" && problem === undefined) {
    report(
      `warning: ${task.machine}: ${problemText}: reboot the machine before you change its configuration`,
    );
    return false;
  }
  report(
    `compare: ${problem === undefined ? "" : `${problem}; `}${problemText}, so the machine reboots`,
  );
  return true;
}
