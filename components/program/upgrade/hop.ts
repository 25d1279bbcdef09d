import { Failure } from "../../clients/failure";
import { driverOf, wayText } from "../../recipe/effect/hops";
import { findRelease } from "../../recipe/facts/talos-release";
import { majorOf } from "../../recipe/facts/version";
import { extensionServicesOf } from "../../recipe/machine/machine-recipe";
import { installerAt } from "../../recipe/machine/schematic";
import { hasStorageModule, storageModule } from "../../recipe/machine/storage-module";
import type { UpgradeTask } from "../task";
import { patiently, type Run } from "./run";

/**
 * The task of an upgrade to a release in between: the wanted schematic at that release, with that release's modules,
 * driver and services. The wanted configuration is already staged, and takes effect with the first of these upgrades.
 */
export function hopTask(task: UpgradeTask, talosVersion: string): UpgradeTask {
  const { extensions } = task.image;
  const driver = task.driverVersion && driverOf(talosVersion, extensions);
  const isAssumed = findRelease(talosVersion)?.assumed === true;
  const { driverVersion: _, ...otherFields } = task;
  return {
    ...otherFields,
    talosVersion,
    installerImage: installerAt(task.installerImage, talosVersion),
    modules: task.modules.filter(
      (name) => name !== storageModule || hasStorageModule(talosVersion),
    ),
    ...(driver ? { driverVersion: isAssumed ? String(majorOf(driver)) : driver } : {}),
    extensionServices:
      task.extensionServices.length > 0 ? extensionServicesOf(talosVersion, extensions) : [],
  };
}

/**
 * Does `work`. If `work` fails on an upgrade path, the failure also says which release the machine runs, and that the
 * next run continues there.
 *
 * @param startRelease release that the machine ran at the start of this run.
 */
export async function withHopContext<T>(
  run: Run,
  startRelease: string,
  hops: readonly string[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (hops.length === 0 || !(error instanceof Failure)) throw error;
    const pathText = wayText(startRelease, hops, run.task.talosVersion);
    const runningRelease = await patiently(run, () => run.machine.version()).catch(() => undefined);
    const positionText =
      runningRelease === undefined ? "does not answer now" : `runs ${runningRelease} now`;
    throw new Failure(
      ...error.findings.map((finding) => ({
        ...finding,
        why: `${finding.why}. The machine is on the upgrade path ${pathText}, and ${positionText}. The next run continues there`,
      })),
    );
  }
}
