import { CallError, Failure, lastLine } from "../../clients/failure";
import { loadedDriver } from "../../clients/talos/driver";
import type { UpdateEffect } from "../../recipe/effect/update-effect";
import { uncordonCommand } from "../cluster/cordon-mark";
import { STAYS_CORDONED, type UpgradeResult, type UpgradeTask } from "../task";
import { overriddenIn } from "../seen/overrides";
import { compare, type Compared, observe, type Observed } from "./compare";
import { earlierRun, isStillCordoned, uncordon } from "./drain";
import { precheck } from "./precheck";
import { join, reach } from "./reach";
import { leavePause, rebootInto } from "./reboot";
import { patiently, type Run, runOf, type Workbench } from "./run";
import { isWell, verify } from "./verify";

/**
 * Brings the machine to the wanted image and configuration, with one reboot or none; a boot that is paused is ended by another one. May be
 * killed at any moment and run again: every step looks at the machine first, and the cordon carries our mark.
 *
 * @param previous answer of the last update of this machine that ended well; undefined on the first.
 * @throws Failure with everything that is wrong.
 */
export async function upgrade(
  task: UpgradeTask,
  bench: Workbench,
  previous?: Pick<UpgradeResult, "schematicId">,
): Promise<UpgradeResult> {
  const run = runOf(task, bench);
  try {
    return await runPhases(run, previous);
  } catch (error) {
    const { cordoned } = await earlierRun(run).catch(() => ({ cordoned: false }));
    if (cordoned)
      bench.report(
        `node ${task.machine} ${STAYS_CORDONED}; \`${uncordonCommand(task.machine)}\` gives up`,
      );
    throw error;
  }
}

/** A requested reboot brings nothing new: what differs from the stack is an update's to bring. */
function rebootAlone({ machine }: UpgradeTask, { differs }: Compared): UpdateEffect {
  if (!differs) return "reboot";
  throw new Failure({
    field: `machines.${machine}`,
    problem:
      "does not run what the stack says, or waits with another configuration for its next boot",
    why: "a reboot alone would apply changes that no preview has shown",
    remedy: "run `pulumi up`, which reboots it",
  });
}

async function runPhases(
  run: Run,
  previous: Pick<UpgradeResult, "schematicId"> | undefined,
): Promise<UpgradeResult> {
  const { task } = run;
  const earlier = await earlierRun(run);
  const reached = await reach(run, earlier.maybeDown);
  await join(run);
  const broughtBy = ({ before: { schematicId } }: Compared): string | undefined =>
    [previous?.schematicId, ...earlier.brings].find((id) => id === schematicId);
  let compared = await compare(run, reached);
  const { paused } = compared;
  if (paused) {
    await precheck(run, compared, broughtBy(compared));
    await leavePause(run, compared.before);
    compared = await compare(run, undefined);
  }
  if (task.reboots) {
    const effect = rebootAlone(task, compared);
    // The end of a pause is the reboot that was asked for.
    compared = { ...compared, effect: paused ? "none" : effect };
  }
  const { before, effect } = compared;
  if (!paused && effect === "none" && earlier.cordoned !== true && (await isWell(run))) {
    if (earlier.cordoned === false || !(await isStillCordoned(run))) {
      run.report("equal: runs the wanted image and configuration, nothing to do");
      await warnOfOverrides(run);
      return resultOf(run, false, before);
    }
  }
  if (effect !== "none") await precheck(run, compared, broughtBy(compared));
  const reboots = effect === "reboot" || (effect === "live" && !(await apply(run)));
  const after = reboots ? await rebootInto(run, compared) : undefined;
  await verify(run);
  await warnOfOverrides(run);
  await uncordon(run);
  return resultOf(run, paused || reboots, after);
}

async function warnOfOverrides(run: Run): Promise<void> {
  const { active = "" } = await patiently(run, () => run.machine.configurations());
  for (const words of overriddenIn(active))
    run.report(`warning: ${run.task.machine}: in its configuration ${words}`);
}

/** What the machine is in the end. */
async function resultOf(run: Run, rebooted: boolean, seen?: Observed): Promise<UpgradeResult> {
  const { task, machine, phases } = run;
  const { bootId, talosVersion, schematicId = "" } = seen ?? (await observe(run));
  const driver =
    task.driverVersion === undefined
      ? undefined
      : await patiently(run, () => loadedDriver(machine));
  return {
    machine: task.machine,
    talosVersion,
    schematicId,
    driverVersion: driver ?? null,
    bootId,
    rebooted,
    phases: phases.done,
  };
}

/** Has Talos take the staged configuration as it runs; false where Talos wants a boot for it. */
const apply = (run: Run): Promise<boolean> =>
  run.phases.run("apply", "the staged configuration, without a reboot if Talos can", () =>
    patiently(run, () => applyLive(run)),
  );

/**
 * Puts the staged configuration into effect without a reboot, where Talos can: it refuses what needs a boot, such as
 * `machine.files` (talos v1.13.9 internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_runtime.go, CanApplyImmediate).
 *
 * Not for what Talos takes and does not act on before a boot (`waitsForBoot`).
 *
 * @returns whether it is in effect.
 */
export async function applyLive({ machine, report }: Workbench): Promise<boolean> {
  const { persistent } = await machine.configurations();
  if (persistent === undefined) return false;
  try {
    await machine.activate(persistent);
  } catch (error) {
    if (!(error instanceof CallError) || error.problem !== "refused") throw error;
    report(`apply: needs a reboot (${lastLine(error)})`);
    return false;
  }
  report("apply: in effect without a reboot");
  return true;
}
