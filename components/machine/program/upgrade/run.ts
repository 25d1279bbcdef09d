import { changesSomething, type UpgradeLimits, type UpgradePhase } from "../../../recipe/effect/upgrade-phases";
import { wayOf } from "../../../recipe/effect/way";
import { formatDuration } from "../../../recipe/rules/duration";
import { Phases } from "../progress";
import type { UpgradeResult, UpgradeTask } from "../task";
import { loadedDriver } from "../../../clients/talos/driver";
import { driverProblems } from "../seen/driver";
import { BootGuard } from "../seen/boot-guard";
import { drain, runsNothing, uncordon, type Draining } from "./drain";
import { awaitCordonWord, earlierRun, type EarlierRun } from "./earlier";
import { pull, reboot, type Workbench } from "./install";
import { join } from "./join";
import { applyLive } from "./live";
import { limitsOf, patiently, patienceOf, type Asked } from "./patience";
import { precheck, reach, type Compared } from "./precheck";
import { apiOf, isSameImage, waitingImage } from "./waiting-image";
import { imageFailure, observe, runsImage, stillStaged, unfollowedArgs, verifyDriver, type Observed } from "./verify";

/** One run of the upgrade program on one machine: its phases, each with its limit. Every one looks at the machine first. */
export class UpgradeRun {
  private readonly phases: Phases<UpgradePhase>;
  private readonly poll: number;
  private readonly limits: UpgradeLimits;
  private readonly guard: BootGuard;
  /** Undefined without credentials of Kubernetes. */
  private readonly draining: Draining | undefined;

  constructor(
    private readonly task: UpgradeTask,
    private readonly bench: Workbench,
  ) {
    const { machine, cluster, clock, report } = bench;
    this.phases = new Phases<UpgradePhase>(clock, report, (phase) => changesSomething(phase) && bench.touches?.());
    this.poll = task.pollSeconds * 1_000;
    this.limits = limitsOf(task);
    this.guard = new BootGuard(machine, {
      name: task.machine,
      remedy: `correct what the machine's configuration says there (\`talosctl -n ${task.address} edit machineconfig\`, which ends the pause by a reboot) or the stack's part of it`,
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

  /** What the machine runs and what waits for its boot, how it comes to what it shall run, and whether its boot is paused still. */
  async compare(paused: string | undefined): Promise<Compared> {
    const { task } = this;
    const before = await this.phases.run(
      "compare",
      `wanted ${task.talosVersion}, schematic ${task.schematicId.slice(0, 12)}`,
      () => this.observed(),
    );
    if (paused !== undefined) {
      if (!before.staged) {
        if ((await this.patiently(() => this.guard.paused())) !== undefined) throw await this.guard.failure(paused);
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
      gpu: task.modules.length > 0 && before.stagedForBoot,
    });
    const waiting = await this.patiently(() => waitingImage(this.bench.machine, before.talosVersion));
    if (way === "none" && waiting !== undefined && !isSameImage(waiting, task.installerImage))
      this.bench.report(
        `warning: ${task.machine}: ${waiting} is installed there, so the next boot brings another image`,
      );
    return { before, way, paused: paused !== undefined, waiting };
  }

  /** Whether the driver is loaded as it shall be. */
  async driverIsRight(): Promise<boolean> {
    return (await this.patiently(() => driverProblems(this.bench.machine, this.task))).length === 0;
  }

  /** Looks whether it can be done, before anything is disturbed. */
  async precheck(compared: Compared, brought: string | undefined): Promise<void> {
    await this.phases.run("precheck", "talosctl, upgrade path, etcd, credentials, what the machine would lose", () =>
      this.patiently(() => precheck(this.task, this.bench, compared, brought)),
    );
  }

  /** Has Talos take the staged configuration as it runs; false where Talos wants a boot for it. */
  async applied(): Promise<boolean> {
    return this.phases.run("apply", "the staged configuration, without a reboot if Talos can", () =>
      this.patiently(() => applyLive(this.bench)),
    );
  }

  /**
   * Ends a paused boot by a reboot into the corrected configuration that waits. Nothing is installed in the pause: Talos counts the boot as
   * failed, and takes back at its end an upgrade that it has not confirmed, also one that was installed just now (seen on Talos v1.13.0;
   * talos v1.13.0, internal/app/machined/main.go, handle, and revert.go).
   */
  async leavePause(before: Observed): Promise<void> {
    const { task, bench } = this;
    const takesBack = await this.patiently(() => bench.machine.isUnconfirmed());
    const { draining } = this;
    if (draining !== undefined && (await this.patiently(() => runsNothing(bench.machine, draining))))
      bench.report("drain: none, since nothing of Kubernetes runs on the machine, and its API does not answer");
    else await this.drain();
    const back = takesBack ? "; Talos has not confirmed the upgrade, and may take it back" : "";
    await this.rebootBy(
      `rebooting into the corrected configuration${back}`,
      before,
      () => bench.machine.reboot(),
      ({ staged }) => !staged,
    );
    const after = await this.observed();
    if (after.staged) throw stillStaged(task);
    if (isOther(before, after))
      bench.report(
        `reboot: Talos took the upgrade back whose boot had failed, and runs ${after.talosVersion} of before`,
      );
  }

  /**
   * One boot into the wanted image and configuration: the installer pulled and the node drained before it.
   *
   * @returns what the machine runs then.
   */
  async reboot({ before, waiting }: Compared): Promise<Observed> {
    const { task, bench, limits } = this;
    const { machine } = bench;
    const api = apiOf(before.talosVersion);
    const isInstalled = isSameImage(waiting, task.installerImage);
    if (!runsImage(before, task) && !isInstalled)
      await this.phases.run("pull", `installer ${task.installerImage}, up to ${formatDuration(limits.pull)}`, () =>
        pull(task, bench, limits.pull),
      );
    await this.drain();
    const doing = runsImage(before, task)
      ? "rebooting once, to activate the staged configuration"
      : isInstalled
        ? "rebooting once, into the image that is installed already"
        : `upgrading through the ${api} API`;
    const start = async (now: Observed, limit: number): Promise<void> => {
      const installs =
        !runsImage(now, task) && !isSameImage(await waitingImage(machine, now.talosVersion), task.installerImage);
      return installs ? machine.upgrade(task.installerImage, api, limit) : machine.reboot();
    };
    await this.rebootBy(doing, before, start, (now) => runsImage(now, task) && !now.staged);
    const after = await this.observed();
    if (!runsImage(after, task)) throw imageFailure(task, before, after, this.guard.problem);
    if (after.staged) throw stillStaged(task);
    return after;
  }

  /** Evicts the node's pods, where the stack wants it. */
  private async drain(): Promise<void> {
    const { task, bench, limits, draining } = this;
    if (!task.drain || draining === undefined) return;
    bench.report(
      await this.phases.run("drain", `evicting pods, up to ${formatDuration(limits.drain)}`, () => drain(draining)),
    );
  }

  /**
   * The phase of a reboot.
   *
   * @param isDone whether nothing is left to reboot for, where the machine began again by itself before it was asked.
   */
  private async rebootBy(
    doing: string,
    before: Observed,
    start: (now: Observed, limit: number) => Promise<void>,
    isDone: (now: Observed) => boolean,
  ): Promise<void> {
    const { bench, limits } = this;
    const says = `${doing}; waiting up to ${formatDuration(limits.reboot)} for a new boot id`;
    await this.phases.run("reboot", says, async () => {
      const end = bench.clock.now() + limits.reboot;
      if (await this.bootOnce((limit) => start(before, limit), limits.reboot)) return;
      const now = await this.observed();
      if (isDone(now)) return;
      bench.report("reboot: the machine began again before it took the request on; it is asked once more");
      await this.bootOnce((limit) => start(now, limit), end - bench.clock.now());
    });
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

  private async bootOnce(start: (limit: number) => Promise<void>, limit: number): Promise<boolean> {
    const { task, guard, poll } = this;
    const { machine, clock, report } = this.bench;
    const bootId = await this.patiently(() => machine.bootId());
    const settling = this.limits.verify;
    return reboot({ task, machine, clock, report, guard, start, bootId, limit, settling, poll });
  }

  private get asked(): Asked {
    const { task, poll, limits, bench } = this;
    return { clock: bench.clock, machine: task.machine, address: task.address, reboot: limits.reboot, poll };
  }

  private patiently<T>(ask: () => Promise<T>): Promise<T> {
    return patiently(this.asked, ask);
  }
}

const isOther = (a: Observed, b: Observed): boolean =>
  a.talosVersion !== b.talosVersion || a.schematicId !== b.schematicId;
