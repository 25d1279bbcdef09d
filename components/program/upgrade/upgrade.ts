import { CallError, Failure, lastLine } from "../../clients/failure";
import { loadedDriver } from "../../clients/talos/driver";
import { upgradePath } from "../../recipe/effect/hops";
import type { UpdateEffect } from "../../recipe/effect/update-effect";
import { uncordonCommand } from "../cluster/cordon-mark";
import { defined } from "../../recipe/mapping";
import { STAYS_CORDONED, type UpgradeResult, type UpgradeTask } from "../task";
import { overriddenIn } from "../seen/overrides";
import { type MachineWay, wayFindings, wayOf } from "../seen/way";
import { compare, type Compared, observe, type Observed } from "./compare";
import { earlierRun, isStillCordoned, uncordon } from "./drain";
import { awaitHealth, awaitParts } from "./health";
import { hopTask, withHopContext } from "./hop";
import { precheck } from "./precheck";
import { runsAddons, updateAddons } from "./addons";
import { awaitKubernetes, pullKubernetes, runsKubernetes } from "./kubernetes";
import { join, reach } from "./reach";
import { leavePause, rebootInto } from "./reboot";
import { patiently, type Run, runOf, type UpgradeContext } from "./run";
import { isWell, verify } from "./verify";
import { awaitWebhooks, readWebhooks } from "./webhooks";

/** What the program needs of the answer of the machine's last successful update. */
export type Previous = Pick<UpgradeResult, "schematicId" | "configurationHash" | "cordonedAt">;

/**
 * Gives the machine the wanted image and configuration. This takes at most one reboot, with two exceptions. An upgrade
 * over several minor releases takes one reboot for each. If Talos has paused the machine's boot, a further reboot ends
 * the pause. The program may be killed at any moment and run again: every step first checks the machine, and an
 * annotation on the node shows that this program cordoned it.
 *
 * @param previous answer of the machine's last successful update; undefined on the first.
 * @throws Failure with all problems.
 */
export async function upgrade(
  task: UpgradeTask,
  context: UpgradeContext,
  previous?: Previous,
): Promise<UpgradeResult> {
  const isNew = task.installs === true && previous === undefined;
  const run = { ...runOf(task, context), isNew };
  try {
    return await runPhases(run, previous);
  } catch (error) {
    const { cordoned } = await earlierRun(run).catch(() => ({ cordoned: false }));
    if (cordoned)
      context.report(
        `node ${task.machine} ${STAYS_CORDONED}; to abandon the upgrade, run \`${uncordonCommand(task.machine)}\``,
      );
    throw error;
  }
}

/**
 * The effect of a task that requests only a reboot, and must not change anything else.
 *
 * @throws Failure if the machine differs from the stack.
 */
function rebootAlone({ machine }: UpgradeTask, { differs }: Compared): UpdateEffect {
  if (!differs) return "reboot";
  throw new Failure({
    field: `machines.${machine}`,
    problem:
      "differs from the stack in its image, or has a changed configuration staged for its next boot",
    why: "the requested reboot would apply changes that no preview has shown",
    remedy: "run `pulumi up`, which applies the changes and reboots the machine",
  });
}

async function runPhases(run: Run, previous: Previous | undefined): Promise<UpgradeResult> {
  const { task } = run;
  const earlier = await earlierRun(run);
  const pauseProblem = await reach(run, earlier.maybeDown);
  await join(run);
  const broughtBy = ({ before: { schematicId } }: Compared): string | undefined =>
    [previous?.schematicId, ...earlier.brings].find((id) => id === schematicId);
  let compared = await compare(run, pauseProblem);
  const { paused } = compared;
  // While a control plane's boot is paused, its API may not answer.
  const maySay = paused ? task.role === "worker" : task.reboots || compared.effect !== "none";
  if (maySay) run.webhooks = await readWebhooks(run);
  if (paused) {
    const { fault: finding } = upgradePath(compared.before.talosVersion, task.talosVersion);
    const findingsOfWay = wayFindings(task, finding);
    await precheck(run, compared, broughtBy(compared), {
      next: task,
      onItsWay: false,
      settles: false,
      way: findingsOfWay,
    });
    await leavePause(run, compared.before);
    compared = await compare(run, undefined);
  }
  if (task.reboots) {
    const effect = rebootAlone(task, compared);
    // Ending the pause has already rebooted the machine, as requested.
    compared = { ...compared, effect: paused ? "none" : effect };
  }
  // The Talos provider itself puts the configuration of a machine of a bootstrapped cluster into effect, unless the
  // machine must reboot.
  const isChanged =
    previous?.configurationHash !== undefined &&
    previous.configurationHash !== task.configurationHash;
  const isDone = async (): Promise<boolean> =>
    (await isWell(run)) && (await runsKubernetes(run)) && (await runsAddons(run));
  if (!paused && compared.effect === "none" && earlier.cordoned !== true && (await isDone())) {
    if (earlier.cordoned === false || !(await isStillCordoned(run))) {
      await (isChanged ? awaitHealth(run) : awaitParts(run));
      run.report("equal: the machine runs the wanted image and configuration, nothing to do");
      await warnOfOverrides(run);
      return resultOf(run, false, compared.before, previous?.cordonedAt);
    }
  }
  const way = await patiently(run, () =>
    wayOf(task, run.machine, compared.before.talosVersion, run.releases ?? tablesAlone),
  );
  const { rebooted, applied, after } = await runHops(run, way, compared, {
    ownSchematic: broughtBy(compared),
    // An earlier run may have been killed right after its reboot.
    settles: earlier.brings.some((id) => id === compared.before.schematicId),
  });
  await warnOfOverrides(run);
  const staysCordoned = await uncordon(run, earlier.cordoned === true);
  await awaitKubernetes(run);
  const hasRebooted = paused || rebooted;
  await (applied || (isChanged && !hasRebooted) ? awaitHealth(run) : awaitParts(run));
  if (hasRebooted) await awaitWebhooks(run, staysCordoned);
  await updateAddons(run);
  const cordonedAt = staysCordoned ? new Date(run.clock.now()).toISOString() : previous?.cordonedAt;
  return resultOf(run, hasRebooted, after, cordonedAt);
}

/**
 * Upgrades the machine to each release on its upgrade path, and verifies each before the next. Without a release in
 * between, the path has one step.
 *
 * @param first comparison before the first step.
 * @param precheckOfFirst for the first step: the schematic that an earlier run installed, and whether the machine may
 * just have booted.
 * @returns whether the machine rebooted, whether its last step changed the configuration without a reboot, and its
 * state after the last reboot.
 */
async function runHops(
  run: Run,
  { hops, findings }: MachineWay,
  first: Compared,
  precheckOfFirst: { ownSchematic: string | undefined; settles: boolean },
): Promise<{ rebooted: boolean; applied: boolean; after: Observed | undefined }> {
  const { task } = run;
  const startRelease = first.before.talosVersion;
  const steps = [...hops.map((hop) => hopTask(task, hop)), task];
  let compared = first;
  let rebooted = false;
  let applied = false;
  let after: Observed | undefined;
  for (const [index, next] of steps.entries()) {
    const onItsWay = index > 0;
    if (onItsWay) compared = await compare(run, undefined);
    const { effect } = compared;
    const step = next === task ? run : { ...run, task: next };
    const check = async (checked: Compared): Promise<void> => {
      if (effect === "none") return;
      if (onItsWay)
        await precheck(run, checked, task.schematicId, { next, onItsWay, settles: true, way: [] });
      else {
        const { ownSchematic, settles } = precheckOfFirst;
        await precheck(run, checked, ownSchematic, { next, onItsWay, settles, way: findings });
      }
    };
    // A refusal before the first step leaves the machine unchanged, so the message does not name its current release.
    if (!onItsWay) {
      await check(compared);
      if (effect !== "none") await pullKubernetes(run);
    }
    await withHopContext(run, startRelease, hops, async () => {
      if (onItsWay) await check(compared);
      applied = effect === "live" && (await apply(run));
      const reboots = effect !== "none" && !applied;
      // Talos has refused the change as it runs. More must hold for a reboot, such as the quorum of etcd.
      if (reboots && effect === "live") await check({ ...compared, effect: "reboot" });
      after = reboots ? await rebootInto(step, compared) : undefined;
      rebooted ||= reboots;
      await verify(step);
    });
  }
  return { rebooted, applied, after };
}

/** Default for `releases`: does not ask the Image Factory. */
const tablesAlone = (): Promise<undefined> => Promise.resolve(undefined);

async function warnOfOverrides(run: Run): Promise<void> {
  const { active = "" } = await patiently(run, () => run.machine.configurations());
  for (const override of overriddenIn(active))
    run.report(`warning: ${run.task.machine}: in its configuration, ${override}`);
}

/** State of the machine at the end. */
async function resultOf(
  run: Run,
  rebooted: boolean,
  observed: Observed | undefined,
  cordonedAt: string | undefined,
): Promise<UpgradeResult> {
  const { task, machine, phases } = run;
  const { bootId, talosVersion, schematicId = "" } = observed ?? (await observe(run));
  const driver =
    task.driverVersion === undefined
      ? undefined
      : await patiently(run, () => loadedDriver(machine));
  return {
    machine: task.machine,
    talosVersion,
    schematicId,
    configurationHash: task.configurationHash,
    driverVersion: driver ?? null,
    bootId,
    rebooted,
    ...defined({ cordonedAt }),
    phases: phases.done,
  };
}

/**
 * Runs the phase `apply`.
 *
 * @returns false if Talos needs a reboot for the staged configuration.
 */
const apply = (run: Run): Promise<boolean> =>
  run.phases.run("apply", "the staged configuration, without a reboot if possible", () =>
    patiently(run, () => applyLive(run)),
  );

/**
 * Puts the staged configuration into effect without a reboot, if Talos can. Talos refuses changes that need a boot,
 * such as `machine.files` (talos v1.13.9 internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_runtime.go,
 * CanApplyImmediate).
 *
 * Must not be called for settings that Talos accepts but applies only at the next boot (`waitsForBoot`).
 *
 * @returns whether the configuration is in effect.
 */
export async function applyLive({ machine, report }: UpgradeContext): Promise<boolean> {
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
