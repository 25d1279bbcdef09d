import { CallError, Failure, lastLine } from "../../clients/failure";
import { loadedDriver } from "../../clients/talos/driver";
import { wayBetween } from "../../recipe/effect/hops";
import type { UpdateEffect } from "../../recipe/effect/update-effect";
import { uncordonCommand } from "../cluster/cordon-mark";
import { STAYS_CORDONED, type UpgradeResult, type UpgradeTask } from "../task";
import { overriddenIn } from "../seen/overrides";
import { type MachineWay, wayFindings, wayOf } from "../seen/way";
import { compare, type Compared, observe, type Observed } from "./compare";
import { earlierRun, isStillCordoned, uncordon } from "./drain";
import { hopTask, onTheWay } from "./hop";
import { precheck } from "./precheck";
import { join, reach } from "./reach";
import { leavePause, rebootInto } from "./reboot";
import { patiently, type Run, runOf, type Workbench } from "./run";
import { isWell, verify } from "./verify";

/**
 * Brings the machine to the wanted image and configuration, with one reboot or none. One that goes over several
 * minors reboots once for each; a reboot ends a paused boot. May be killed at any moment and run again: every step
 * looks at the machine first, and the cordon carries our mark.
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
    const { fault } = wayBetween(compared.before.talosVersion, task.talosVersion);
    const way = wayFindings(task, fault);
    await precheck(run, compared, broughtBy(compared), {
      next: task,
      onItsWay: false,
      settles: false,
      way,
    });
    await leavePause(run, compared.before);
    compared = await compare(run, undefined);
  }
  if (task.reboots) {
    const effect = rebootAlone(task, compared);
    // The end of a pause is the reboot that was asked for.
    compared = { ...compared, effect: paused ? "none" : effect };
  }
  if (!paused && compared.effect === "none" && earlier.cordoned !== true && (await isWell(run))) {
    if (earlier.cordoned === false || !(await isStillCordoned(run))) {
      run.report("equal: runs the wanted image and configuration, nothing to do");
      await warnOfOverrides(run);
      return resultOf(run, false, compared.before);
    }
  }
  const way = await patiently(run, () =>
    wayOf(task, run.machine, compared.before.talosVersion, run.releases ?? tablesAlone),
  );
  const { rebooted, after } = await goThrough(run, way, compared, {
    brought: broughtBy(compared),
    // An earlier run may have been killed on its way.
    settles: earlier.brings.some((id) => id === compared.before.schematicId),
  });
  await warnOfOverrides(run);
  await uncordon(run);
  return resultOf(run, paused || rebooted, after);
}

/**
 * Takes the machine through the releases on its way to the wanted one, each verified before the next. Without a
 * release between, that is one step.
 *
 * @param first comparison before the first step.
 * @param precheckOfFirst for the first step: the schematic that an earlier run brought, and whether the machine may
 * just have booted.
 * @returns whether it rebooted, and the machine after the last reboot.
 */
async function goThrough(
  run: Run,
  { hops, findings }: MachineWay,
  first: Compared,
  precheckOfFirst: { brought: string | undefined; settles: boolean },
): Promise<{ rebooted: boolean; after: Observed | undefined }> {
  const { task } = run;
  const from = first.before.talosVersion;
  const steps = [...hops.map((hop) => hopTask(task, hop)), task];
  let compared = first;
  let rebooted = false;
  let after: Observed | undefined;
  for (const [index, next] of steps.entries()) {
    const onItsWay = index > 0;
    if (onItsWay) compared = await compare(run, undefined);
    const { effect } = compared;
    const step = next === task ? run : { ...run, task: next };
    const check = async (): Promise<void> => {
      if (effect === "none") return;
      if (onItsWay)
        await precheck(run, compared, task.schematicId, { next, onItsWay, settles: true, way: [] });
      else {
        const { brought, settles } = precheckOfFirst;
        await precheck(run, compared, brought, { next, onItsWay, settles, way: findings });
      }
    };
    // A refusal before the first step leaves the machine as it is, so it needs no word on where the machine stands.
    if (!onItsWay) await check();
    await onTheWay(run, from, hops, async () => {
      if (onItsWay) await check();
      const reboots = effect === "reboot" || (effect === "live" && !(await apply(run)));
      after = reboots ? await rebootInto(step, compared) : undefined;
      rebooted ||= reboots;
      await verify(step);
    });
  }
  return { rebooted, after };
}

/** Where nothing asks the Image Factory. */
const tablesAlone = (): Promise<undefined> => Promise.resolve(undefined);

async function warnOfOverrides(run: Run): Promise<void> {
  const { active = "" } = await patiently(run, () => run.machine.configurations());
  for (const words of overriddenIn(active))
    run.report(`warning: ${run.task.machine}: in its configuration ${words}`);
}

/** State of the machine at the end. */
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
