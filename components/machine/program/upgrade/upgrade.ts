import type { UpgradeResult, UpgradeTask } from "../task";
import type { Workbench } from "./install";
import { uncordonCommand } from "../kubernetes/cordon-mark";
import type { Compared } from "./precheck";
import { UpgradeRun } from "./run";
import { STAYS_CORDONED } from "../task/upgrade";

/**
 * Brings the machine to the wanted image and configuration, with one reboot or none; a boot that is paused is ended by another one. May be killed at any moment and run
 * again: every step looks at the machine first, and the cordon carries our mark.
 *
 * @param previous answer of the last update of this machine that ended well; undefined on the first.
 * @throws Failure with everything that is wrong.
 */
export async function upgrade(
  task: UpgradeTask,
  bench: Workbench,
  previous?: Pick<UpgradeResult, "schematicId">,
): Promise<UpgradeResult> {
  const run = new UpgradeRun(task, bench);
  try {
    return await bring(run, bench, previous);
  } catch (error) {
    const { cordoned } = await run.earlier().catch(() => ({ cordoned: false }));
    if (cordoned) bench.report(`node ${task.machine} ${STAYS_CORDONED}; \`${uncordonCommand(task.machine)}\` gives up`);
    throw error;
  }
}

async function bring(
  run: UpgradeRun,
  bench: Workbench,
  previous: Pick<UpgradeResult, "schematicId"> | undefined,
): Promise<UpgradeResult> {
  const earlier = await run.earlier();
  const reached = await run.reach(earlier);
  await run.join();
  const broughtBy = ({ before: { schematicId } }: Compared): string | undefined =>
    [previous?.schematicId, ...earlier.brings].find((id) => id === schematicId);
  let compared = await run.compare(reached);
  const { paused } = compared;
  if (paused) {
    await run.precheck(compared, broughtBy(compared));
    await run.leavePause(compared.before);
    compared = await run.compare(undefined);
  }
  const { before, way } = compared;
  if (!paused && way === "none" && earlier.cordoned !== true && (await run.driverIsRight())) {
    if (earlier.cordoned === false || !(await run.isCordoned())) {
      bench.report("equal: runs the wanted image and configuration, nothing to do");
      return run.result(false, before);
    }
  }
  if (way !== "none") await run.precheck(compared, broughtBy(compared));
  const reboots = way === "reboot" || (way === "live" && !(await run.applied()));
  const after = reboots ? await run.reboot(compared) : undefined;
  await run.verify();
  await run.uncordon();
  return run.result(paused || reboots, after);
}
