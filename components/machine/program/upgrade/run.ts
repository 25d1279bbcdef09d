import * as semver from "semver";
import { wayOf, type Way } from "../../../recipe/effect/way";
import { formatDuration, parseDuration } from "../../duration";
import type { UpgradeApi } from "../machine";
import { Phases } from "../progress";
import type { UpgradeResult, UpgradeTask } from "../task";
import { BootGuard } from "./boot-guard";
import { drain, uncordon, type Draining } from "./drain";
import { awaitCordonWord, earlierRun, type EarlierRun } from "./earlier";
import { pull, reboot, type Workbench } from "./install";
import { join } from "./join";
import { applyLive } from "./live";
import { patiently, patienceOf, type Asked } from "./patience";
import type { UpgradePhase } from "./phases";
import { precheck, reach } from "./precheck";
import {
  driverProblems,
  imageFailure,
  loadedDriver,
  observe,
  runsImage,
  stillStaged,
  unfollowedArgs,
  verifyDriver,
  type Observed,
} from "./verify";

/** First release with LifecycleService.Upgrade. */
const LIFECYCLE_SINCE = "1.13.0-beta.0";

/** One run of the upgrade program on one machine: its phases, each with its limit. Every one looks at the machine first. */
export class UpgradeRun {
  private readonly phases: Phases<UpgradePhase>;
  private readonly poll: number;
  private readonly limits: Record<keyof UpgradeTask["timeouts"], number>;
  private readonly guard: BootGuard;
  /** Undefined without credentials of Kubernetes. */
  private readonly draining: Draining | undefined;

  constructor(
    private readonly task: UpgradeTask,
    private readonly bench: Workbench,
  ) {
    const { machine, cluster, clock, report } = bench;
    this.phases = new Phases<UpgradePhase>(clock, report);
    this.poll = task.pollSeconds * 1_000;
    this.limits = limitsOf(task);
    this.guard = new BootGuard(machine, {
      name: task.machine,
      remedy: `correct what the machine's configuration says there (\`talosctl -n ${task.address} edit machineconfig\` ends the pause) or the stack's part of it`,
      report,
    });
    const { machine: node, schematicId: brings } = task;
    this.draining = cluster && { cluster, clock, node, brings, limit: this.limits.drain, poll: this.poll, report };
  }

  /** What an earlier run left. A machine that may be down gets the time of a reboot to answer. */
  earlier(): Promise<EarlierRun> {
    return earlierRun(this.task, this.bench.cluster);
  }

  /** Whether an earlier run left the node cordoned, where Kubernetes did not say so before the machine was reached. */
  async isCordoned(): Promise<boolean> {
    const { draining } = this;
    const limit = this.limits.verify;
    if (draining === undefined) return false;
    const says = `waiting up to ${formatDuration(limit)} for Kubernetes to say whether the node is cordoned`;
    return this.phases.run("compare", says, () => awaitCordonWord({ ...draining, limit }));
  }

  /** Waits until the machine answers; tells why its boot is paused, if it is. */
  async reach({ maybeDown }: Pick<EarlierRun, "maybeDown">): Promise<string | undefined> {
    const { task, poll, guard, bench } = this;
    const limit = maybeDown || task.installs ? this.limits.reboot : patienceOf(this.asked);
    const { paused } = await this.phases.run(
      "reach",
      `waiting up to ${formatDuration(limit)} for ${task.address} to answer`,
      () => reach({ machine: bench.machine, clock: bench.clock, task, guard, limit, poll }),
    );
    return paused;
  }

  /** A machine that was installed just now becomes a node of the cluster. */
  async join(): Promise<void> {
    const { task, poll, bench } = this;
    const { cluster, clock } = bench;
    const limit = this.limits.reboot;
    if (!task.installs || cluster === undefined) return;
    await this.phases.run("join", `waiting up to ${formatDuration(limit)} for node ${task.machine}`, () =>
      join({ cluster, clock, node: task.machine, address: task.address, limit, poll }),
    );
  }

  /** What the machine runs, how it comes to what it shall run, and whether its boot is paused still. */
  async compare(paused: string | undefined): Promise<{ before: Observed; way: Way; paused: boolean }> {
    const { task } = this;
    const before = await this.phases.run(
      "compare",
      `wanted ${task.talosVersion}, schematic ${task.schematicId.slice(0, 12)}`,
      () => this.observed(),
    );
    if (paused !== undefined) {
      if (!before.staged) {
        if ((await this.patiently(() => this.guard.paused())) !== undefined) throw this.guard.failure(paused);
        // The machine's own reboot came in between, with a configuration that was corrected meanwhile.
        return this.compare(await this.reach({ maybeDown: true }));
      }
      this.bench.report(
        `reach: ${paused}; a corrected configuration is staged, so the program reboots the machine into it`,
      );
    }
    const way = wayOf({
      image: !runsImage(before, task),
      configuration: before.staged,
      gpu: task.modules.length > 0,
      paused: paused !== undefined,
    });
    return { before, way, paused: paused !== undefined };
  }

  /** Whether the driver is loaded as it shall be. */
  async driverIsRight(): Promise<boolean> {
    return (await this.patiently(() => driverProblems(this.bench.machine, this.task))).length === 0;
  }

  /** Looks whether it can be done, before anything is disturbed. */
  async precheck(before: Observed, brought: string | undefined, paused: boolean): Promise<void> {
    await this.phases.run("precheck", "talosctl, upgrade path, etcd, credentials, what the machine would lose", () =>
      this.patiently(() => precheck(this.task, this.bench, before, brought, paused)),
    );
  }

  /** Has Talos take the staged configuration as it runs; false where Talos wants a boot for it. */
  async applied(): Promise<boolean> {
    return this.phases.run("apply", "the staged configuration, without a reboot if Talos can", () =>
      this.patiently(() => applyLive(this.bench)),
    );
  }

  /**
   * One boot into the wanted image and configuration: the installer pulled and the node drained before it.
   *
   * @returns what the machine runs then.
   */
  async reboot(before: Observed): Promise<Observed> {
    const { task, bench, limits, draining } = this;
    const rightImage = runsImage(before, task);
    if (!rightImage)
      await this.phases.run("pull", `installer ${task.installerImage}, up to ${formatDuration(limits.pull)}`, () =>
        pull(task, bench, limits.pull),
      );
    if (task.drain && draining !== undefined)
      bench.report(
        await this.phases.run("drain", `evicting pods, up to ${formatDuration(limits.drain)}`, () => drain(draining)),
      );
    const api = apiOf(before.talosVersion);
    const doing = rightImage
      ? "rebooting once, to activate the staged configuration"
      : `upgrading through the ${api} API`;
    const start = (limit: number): Promise<void> =>
      rightImage ? bench.machine.reboot() : bench.machine.upgrade(task.installerImage, api, limit);
    await this.phases.run(
      "reboot",
      `${doing}; waiting up to ${formatDuration(limits.reboot)} for a new boot id`,
      async () => {
        if (await this.bootOnce(start)) return;
        const now = await this.observed();
        if (!runsImage(now, task) || now.staged) await this.bootOnce(start);
      },
    );
    const after = await this.observed();
    if (!runsImage(after, task)) throw imageFailure(task, before, after);
    if (after.staged) throw stillStaged(task);
    return after;
  }

  /** Waits for modules, driver and extension services. */
  async verify(): Promise<void> {
    const { task, bench, guard, poll } = this;
    const limit = this.limits.verify;
    await this.phases.run("verify", `modules, driver and extension services, up to ${formatDuration(limit)}`, () =>
      verifyDriver({ machine: bench.machine, task, clock: bench.clock, guard, limit, poll }),
    );
    const unfollowed = await this.patiently(() => unfollowedArgs(bench.machine, task));
    if (unfollowed.length > 0)
      bench.report(
        `warning: ${task.machine}: its kernel was not started as kernelArgs says (${unfollowed.join(" ")}): GRUB takes no arguments from ` +
          "the image unless the machine's configuration says machine.install.grubUseUKICmdline",
      );
  }

  /** Gives the node back, where an earlier run or this one cordoned it. */
  async uncordon(): Promise<void> {
    const { draining } = this;
    const limit = this.limits.verify;
    if (draining === undefined) return;
    this.bench.report(
      await this.phases.run("uncordon", `waiting up to ${formatDuration(limit)} for the node`, () =>
        uncordon({ ...draining, limit }),
      ),
    );
  }

  /** What the machine is in the end. */
  async result(rebooted: boolean, seen?: Observed): Promise<UpgradeResult> {
    const { task, bench } = this;
    const { talosVersion, schematicId = "" } = seen ?? (await this.observed());
    const driver =
      task.driverVersion === undefined ? undefined : await this.patiently(() => loadedDriver(bench.machine));
    return {
      machine: task.machine,
      talosVersion,
      schematicId,
      driverVersion: driver ?? null,
      bootId: await this.patiently(() => bench.machine.bootId()),
      rebooted,
      phases: this.phases.done,
    };
  }

  private observed(): Promise<Observed> {
    return this.patiently(() => observe(this.bench.machine));
  }

  private async bootOnce(start: (limit: number) => Promise<void>): Promise<boolean> {
    const { task, guard, poll } = this;
    const { machine, clock, report } = this.bench;
    const bootId = await this.patiently(() => machine.bootId());
    return reboot({ task, machine, clock, report, guard, start, bootId, limit: this.limits.reboot, poll });
  }

  private get asked(): Asked {
    const { task, poll, limits, bench } = this;
    return { clock: bench.clock, machine: task.machine, address: task.address, reboot: limits.reboot, poll };
  }

  private patiently<T>(ask: () => Promise<T>): Promise<T> {
    return patiently(this.asked, ask);
  }
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
