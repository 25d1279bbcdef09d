import * as semver from "semver";
import { changedParts } from "../../recipe/effect/parts";
import { waitsForBoot, type UpdateEffect, updateEffectOf } from "../../recipe/effect/update-effect";
import { capabilitiesOf } from "../../recipe/facts/talos-release";
import { installImage, isStaged } from "../../clients/talos/configuration-text";
import { waitingImageOf } from "../../clients/talos/console";
import type { Machine } from "../../clients/talos/talos-machine";
import { criProblem, isolationWaits } from "../seen/sandbox";
import type { UpgradeTask } from "../task";
import { reach } from "./reach";
import { patiently, type Run } from "./run";

/** Release, image and configuration of a running machine. */
export interface Observed {
  /** Of the boot that the rest was seen in, or of one just before it. */
  bootId: string;
  talosVersion: string;
  schematicId: string | undefined;
  /** Whether the next boot uses a changed configuration. */
  staged: boolean;
  /** Parts of the configuration that the next boot brings otherwise. */
  stagedParts: string[];
  /** Whether workload isolation, which is in force, has no effect before a boot. */
  isolationWaits: boolean;
}

/**
 * Asks a machine what it runs. Of an image of the user's own no schematic tells: the machine runs it if its active
 * configuration names it. That configuration is staged with the upgrade and active from its reboot on, unless this
 * run knows better. Modules, driver and services are looked at besides.
 */
export function observe(run: Run): Promise<Observed> {
  const { machine, task } = run;
  return patiently(run, async () => {
    const bootId = await machine.bootId(); // first: a boot that comes in between is then told from it
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
      isolationWaits: await isolationWaits(machine, configurations.active ?? ""),
    };
  });
}

/** The wanted image, for messages. */
export const imageNameOf = ({ ownImage, installerImage, schematicId }: UpgradeTask): string =>
  ownImage ? installerImage : `schematic ${schematicId}`;

/** Whether the machine runs the wanted image: release and schematic, since either alone may be right by chance. */
export function runsImage({ talosVersion, schematicId }: Observed, task: UpgradeTask): boolean {
  return semver.eq(talosVersion, task.talosVersion) && schematicId === task.schematicId;
}

/**
 * Image that is installed and waits for the machine's next boot, where Talos says so. No installation may overwrite
 * it: an installation keeps the image of the next boot and removes the other one. The other one is then the running
 * one (seen on Talos v1.13.0 with systemd-boot; talos v1.13.0, bootloader/sdboot/sdboot.go, Upgrade, and
 * bootloader/grub/boot_label.go, flip). If neither boots, there is no way back.
 */
export const waitingImage = async (
  machine: Machine,
  running: string,
): Promise<string | undefined> =>
  capabilitiesOf(running).upgradeApi === "legacy"
    ? undefined
    : waitingImageOf(await machine.console());

/** Whether two references name one image of the Image Factory, whatever registry mirrors it. */
export function isSameImage(a: string | undefined, b: string): boolean {
  const last = (reference: string): string => reference.split("/").slice(-2).join("/");
  return a !== undefined && last(a) === last(b);
}

/**
 * Observed state of a machine: its running image, its way to the wanted one, and the image that waits for its next
 * boot.
 */
export interface Compared {
  before: Observed;
  effect: UpdateEffect;
  /** Whether its image or its configuration differs. */
  differs: boolean;
  /** Whether its boot is paused. */
  paused: boolean;
  waiting: string | undefined;
}

/**
 * Observes what the machine runs and what waits for its boot, its way to the wanted state, and whether its boot is
 * still paused.
 *
 * @param paused why its boot is paused, if it is.
 */
export async function compare(run: Run, paused: string | undefined): Promise<Compared> {
  const { task, machine, guard, report } = run;
  const wanted = `wanted ${task.talosVersion}, ${task.ownImage ? task.installerImage : `schematic ${task.schematicId.slice(0, 12)}`}`;
  const before = await run.phases.run("compare", wanted, () => observe(run));
  if (paused !== undefined) {
    if (!before.staged) {
      if ((await patiently(run, () => guard.paused())) !== undefined)
        throw await guard.failure(paused);
      // The machine's own reboot came in between, with a configuration that was corrected meanwhile.
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
  const planned = updateEffectOf(differences);
  const effect =
    planned === "reboot" || !(await waitsForSandbox(run, before, planned)) ? planned : "reboot";
  const waiting = await patiently(run, () => waitingImage(machine, before.talosVersion));
  if (effect === "none" && waiting !== undefined && !isSameImage(waiting, task.installerImage))
    report(
      `warning: ${task.machine}: ${waiting} is installed there, so the next boot brings another image`,
    );
  return { before, effect, differs: planned !== "none", paused: paused !== undefined, waiting };
}

/**
 * Whether the machine must boot before anything else of its configuration is touched: workload isolation waits for a
 * boot, and containerd does not come up again without it. Where nothing is to be done and containerd is up, that is
 * only reported.
 */
async function waitsForSandbox(
  run: Run,
  before: Observed,
  planned: UpdateEffect,
): Promise<boolean> {
  const { task, machine, report } = run;
  if (!before.isolationWaits) return false;
  const problem = await patiently(run, () => criProblem(machine));
  const what =
    "its SecurityProfileConfig takes effect at a boot, and containerd does not start again before that";
  if (planned === "none" && problem === undefined) {
    report(
      `warning: ${task.machine}: ${what}: reboot the machine before its configuration changes`,
    );
    return false;
  }
  report(`compare: ${problem === undefined ? "" : `${problem}; `}${what}, so the machine reboots`);
  return true;
}
