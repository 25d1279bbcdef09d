import * as semver from "semver";
import { wayOf } from "../../../recipe/effect/way";
import { formatDuration, parseDuration } from "../../duration";
import { BootGuard } from "./boot-guard";
import { LimitReached, waitFor } from "../clock";
import { pull, reboot, type Workbench } from "./install";
import { CORDONED_BY, drain, uncordon, type Draining } from "./drain";
import { Failure, isTransient } from "../failure";
import { join } from "./join";
import { applyLive } from "./live";
import type { Cluster, UpgradeApi } from "../machine";
import { checkClient, checkControlPlanes, checkLosses, checkPath, reach } from "./precheck";
import { Phases } from "../progress";
import type { UpgradeResult, UpgradeTask } from "../task";
import { driverProblems, imageFailure, loadedDriver, observe, runsImage, verifyDriver, type Observed } from "./verify";

/** Phases of an upgrade, in order, by the word that begins their line of progress. Each is one at which it may be killed. */
export const upgradePhases = [
  "reach",
  "join",
  "compare",
  "precheck",
  "apply",
  "pull",
  "drain",
  "reboot",
  "verify",
  "uncordon",
] as const;
type UpgradePhase = (typeof upgradePhases)[number];

/** First release with LifecycleService.Upgrade. */
const LIFECYCLE_SINCE = "1.13.0-beta.0";

/** Milliseconds that a machine gets to answer at the start, unless it is seen to be on its way up from an earlier run. */
const REACH_LIMIT = 300_000;

/**
 * Brings the machine to the wanted image and configuration, with one reboot or none. May be killed at any moment and run
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
  const { machine, cluster, clock, report } = bench;
  const phases = new Phases<UpgradePhase>(clock, report);
  const poll = task.pollSeconds * 1_000;
  const limits = limitsOf(task);
  const guard = new BootGuard(machine, {
    name: task.machine,
    remedy: `correct what the machine's configuration says there (\`talosctl -n ${task.address} edit machineconfig\` ends the pause) or the stack's part of it`,
    report,
  });
  const draining: Draining | undefined =
    cluster === undefined ? undefined : { cluster, clock, node: task.machine, limit: limits.drain, poll, report };

  const earlier = await earlierRun(task, cluster);
  const reachLimit = earlier.maybeDown || task.installs ? limits.reboot : Math.min(REACH_LIMIT, limits.reboot);
  const { paused } = await phases.run(
    "reach",
    `waiting up to ${formatDuration(reachLimit)} for ${task.address} to answer`,
    () => reach({ machine, clock, task, guard, limit: reachLimit, poll }),
  );
  if (task.installs && cluster !== undefined) {
    await phases.run("join", `waiting up to ${formatDuration(limits.reboot)} for node ${task.machine}`, () =>
      join({ cluster, clock, node: task.machine, address: task.address, limit: limits.reboot, poll }),
    );
  }

  const before = await phases.run(
    "compare",
    `wanted ${task.talosVersion}, schematic ${task.schematicId.slice(0, 12)}`,
    () => patiently(bench, task, () => observe(machine)),
  );
  const rightImage = runsImage(before, task);
  const way = wayOf({
    image: !rightImage,
    configuration: before.staged,
    gpu: task.modules.length > 0,
    paused: paused !== undefined,
  });
  if (paused !== undefined) {
    if (!before.staged) throw guard.failure(paused);
    report(`reach: ${paused}; the configuration that waits for the next boot is another one, so it gets that boot`);
  }
  let rebooted = false;
  if (
    way === "none" &&
    !earlier.cordoned &&
    (await patiently(bench, task, () => driverProblems(machine, task))).length === 0
  ) {
    report("equal: runs the wanted image and configuration, nothing to do");
    return result(task, bench, before, false, phases);
  }

  if (way !== "none") {
    await phases.run("precheck", "talosctl, upgrade path, etcd, credentials, what the machine would lose", () =>
      patiently(bench, task, () => precheck(task, bench, before, previous?.schematicId)),
    );
    rebooted =
      way === "reboot" ||
      !(await phases.run("apply", "the staged configuration, without a reboot if Talos can", () =>
        patiently(bench, task, () => applyLive(bench)),
      ));
  }
  if (rebooted) {
    if (!rightImage) {
      await phases.run("pull", `installer ${task.installerImage}, up to ${formatDuration(limits.pull)}`, () =>
        pull(task, bench, limits.pull),
      );
    }
    if (task.drain && draining !== undefined) {
      report(await phases.run("drain", `evicting pods, up to ${formatDuration(limits.drain)}`, () => drain(draining)));
    }
    const start = (limit: number): Promise<void> =>
      rightImage ? machine.reboot() : machine.upgrade(task.installerImage, apiOf(before.talosVersion), limit);
    const doing = rightImage
      ? "rebooting once, to activate the staged configuration"
      : `upgrading through the ${apiOf(before.talosVersion)} API`;
    const once = async (): Promise<boolean> => {
      const bootId = await patiently(bench, task, () => machine.bootId());
      return reboot({ task, machine, clock, report, guard, start, bootId, limit: limits.reboot, poll });
    };
    await phases.run(
      "reboot",
      `${doing}; waiting up to ${formatDuration(limits.reboot)} for a new boot id`,
      async () => {
        if (await once()) return;
        const now = await patiently(bench, task, () => observe(machine));
        if (!runsImage(now, task) || now.staged) await once();
      },
    );
    const after = await patiently(bench, task, () => observe(machine));
    if (!runsImage(after, task)) throw imageFailure(task, before, after);
    if (after.staged) throw stillStaged(task);
  }

  await phases.run("verify", `modules, driver and extension services, up to ${formatDuration(limits.verify)}`, () =>
    verifyDriver({ machine, task, clock, guard, limit: limits.verify, poll }),
  );
  if (draining !== undefined) {
    report(
      await phases.run("uncordon", `waiting up to ${formatDuration(limits.verify)} for the node`, () =>
        uncordon({ ...draining, limit: limits.verify }),
      ),
    );
  }
  return result(task, bench, await patiently(bench, task, () => observe(machine)), rebooted, phases);
}

/**
 * Whether an earlier run was cut off on this machine: its cordon is there, or the machine is seen to be down. It then gets
 * the time of a reboot to answer. A control plane may be the one that serves Kubernetes, so no answer from there counts.
 */
async function earlierRun(
  task: UpgradeTask,
  cluster: Cluster | undefined,
): Promise<{ cordoned: boolean; maybeDown: boolean }> {
  if (cluster === undefined) return { cordoned: false, maybeDown: false };
  try {
    const node = await cluster.node(task.machine);
    const cordoned = node?.annotations[CORDONED_BY] !== undefined;
    return { cordoned, maybeDown: cordoned || node?.ready === false };
  } catch (error) {
    if (!isTransient(error)) throw error;
    return { cordoned: false, maybeDown: task.role === "controlplane" };
  }
}

/** Asks again while the machine does not answer: one dropped connection must not end an upgrade. */
async function patiently<T>(bench: Workbench, task: UpgradeTask, ask: () => Promise<T>): Promise<T> {
  const limit = Math.min(REACH_LIMIT, limitsOf(task).reboot);
  try {
    return await waitFor(bench.clock, {
      what: `an answer of machine ${task.machine}`,
      limit,
      poll: task.pollSeconds * 1_000,
      look: async () => ({ done: await ask() }),
    });
  } catch (error) {
    if (!(error instanceof LimitReached)) throw error;
    throw new Failure([
      {
        field: `machines.${task.machine}`,
        problem: `it stopped answering for ${formatDuration(limit)} (last: ${error.missing})`,
        why: "its state is not known; its node stays cordoned if it was drained",
        remedy: `look at its console and \`talosctl -n ${task.address} dmesg\`, then run again: the program goes on from what it finds`,
      },
    ]);
  }
}

async function precheck(
  task: UpgradeTask,
  bench: Workbench,
  before: Observed,
  brought: string | undefined,
): Promise<void> {
  const findings = [
    ...checkClient(bench.clientVersion, before.talosVersion, task.talosVersion),
    ...checkPath(task.machine, before.talosVersion, task.talosVersion),
    ...(await checkControlPlanes(task, bench.machine, bench.others)),
    ...(runsImage(before, task) ? [] : await checkLosses(task, bench.machine, before.schematicId, brought)),
  ];
  if (task.drain && bench.cluster === undefined) {
    findings.push({
      field: "talos-gpu:kubeconfig",
      problem: "the machine must reboot, and there are no credentials to drain it with",
      why: "its pods would be cut off",
      remedy: "give the kubeconfig (stack configuration or KUBECONFIG), or set upgrade.drain: false",
    });
  }
  if (findings.length > 0) throw new Failure(findings);
}

function stillStaged(task: UpgradeTask): Failure {
  return new Failure([
    {
      field: `machines.${task.machine}`,
      problem: "after the reboot the staged configuration is not the active one",
      why: "somebody else staged a configuration meanwhile, or Talos refused it at boot",
      remedy: `compare \`talosctl -n ${task.address} get machineconfig persistent\` and \`v1alpha1\`, then run again`,
    },
  ]);
}

async function result(
  task: UpgradeTask,
  bench: Workbench,
  seen: Observed,
  rebooted: boolean,
  phases: Phases<UpgradePhase>,
): Promise<UpgradeResult> {
  const { machine } = bench;
  return {
    machine: task.machine,
    talosVersion: seen.talosVersion,
    schematicId: seen.schematicId ?? "",
    driverVersion:
      task.driverVersion === undefined ? null : ((await patiently(bench, task, () => loadedDriver(machine))) ?? null),
    bootId: await patiently(bench, task, () => machine.bootId()),
    rebooted,
    phases: phases.done,
  };
}

function apiOf(running: string): UpgradeApi {
  return semver.gte(running, LIFECYCLE_SINCE) ? "lifecycle" : "legacy";
}

function limitsOf({ timeouts }: UpgradeTask): Record<keyof UpgradeTask["timeouts"], number> {
  return {
    pull: parseDuration(timeouts.pull),
    drain: parseDuration(timeouts.drain),
    reboot: parseDuration(timeouts.reboot),
    verify: parseDuration(timeouts.verify),
  };
}
