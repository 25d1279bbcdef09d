import { waitOrFail } from "../../clients/clock";
import { CallError, type FieldFinding, isTransient, lastLine } from "../../clients/failure";
import { moreRoom } from "../../recipe/machine/boot-partition";
import { formatDuration } from "../../recipe/rules/duration";
import { type Observed, runsImage } from "./compare";
import type { Run } from "./run";

/** Largest number of requests for a reboot, if the connection drops at each request and the machine does not reboot. */
const STARTS = 3;

/**
 * Remedy for an image whose kernel does not start. Talos rolls back only if its own init has started and the boot then
 * fails. The boot loaders count no boots, so they start such a kernel again and again (talos v1.13.0,
 * bootloader/sdboot/sdboot.go, setup, and grub/encode.go). The menu also has an entry that wipes the machine
 * (grub/encode.go, AddResetOption; pkg/imager/profile of v1.14.1 for systemd-boot).
 */
export const onlyByConsole =
  "If an image's kernel does not start, Talos cannot roll back by itself. On the machine's console, choose the other Talos release or image in the boot menu (never an entry `Reset …`, which wipes the machine)";

/**
 * Whether an installer failed because the boot partition is full, e.g. `failed to install bootloader: write
 * /boot/B/initramfs.xz: no space left on device` (siderolabs/talos#12551).
 */
const isPartitionFull = (message: string): boolean =>
  message.includes("/boot/") && message.includes("no space left on device");

/**
 * Requests the reboot and waits until the machine runs again and is ready. Talos does not report the result of a
 * reboot. Talos confirms an upgrade only once the machine is ready; if a boot fails before that, Talos rolls back
 * (talos v1.13.0, controllers/runtime/drop_upgrade_fallback.go). If the machine runs but does not become ready, the
 * later phases report what is missing.
 *
 * @param before the last observed state. If the boot ID has changed since then, the machine rebooted by itself.
 * @param start requests the reboot, within the given milliseconds.
 * @returns whether the machine accepted the request. False if the machine rebooted by itself before: at the end of a
 * paused boot, or after a power loss.
 */
export async function bootOnce(
  run: Run,
  before: Observed,
  start: StartReboot,
  limit: number,
): Promise<boolean> {
  const attempt = new BootAttempt(run, before, start, run.clock.now() + limit);
  return waitOrFail(
    run.clock,
    { limit, poll: run.poll, look: () => attempt.look() },
    (_, last) =>
      attempt.failure(
        `the machine did not run within ${formatDuration(limit)} after the request for the reboot (last: ${last})`,
      ),
    (message) => attempt.refusal(message),
  );
}

/** Requests a reboot of the machine in the observed state, within so many milliseconds. */
export type StartReboot = (now: Observed, limit: number) => Promise<void>;

/** What one look at the machine gives: whether it accepted the reboot once it runs again, or what is still missing. */
type Look = { done: boolean } | { not: string };

/** One reboot, from the request until the machine runs again. */
class BootAttempt {
  private accepted = false;

  /** Requests at which the connection dropped. */
  private drops = 0;

  private runningSince: number | undefined;

  /**
   * Result of the last look. `same boot`: the machine has not rebooted since the request. `new boot`: it has.
   * `unreachable`: it has accepted the reboot, and does not answer. Before the first answer, `unknown`.
   */
  private lastSeen: "same boot" | "new boot" | "unreachable" | "unknown" = "unknown";

  /**
   * @param end time at which the wait ends.
   */
  public constructor(
    private readonly run: Run,
    private readonly before: Observed,
    private readonly start: StartReboot,
    private readonly end: number,
  ) {}

  public async look(): Promise<Look> {
    this.lastSeen = this.accepted ? "unreachable" : "unknown";
    const bootId = await this.run.machine.bootId();
    this.lastSeen = bootId === this.before.bootId ? "same boot" : "new boot";
    if (this.lastSeen === "new boot") return this.followBoot();
    return this.accepted ? sameBoot : this.request();
  }

  /** Follows the new boot until the machine runs and is ready. */
  private async followBoot(): Promise<Look> {
    const { task, machine, clock, report, guard, poll, limits } = this.run;
    const { stage, ready, unmet } = await machine.status();
    const unmetText = unmet.length > 0 ? `: ${unmet.join(", ")}` : "";
    if (stage !== "running") {
      const pauseText = await guard.look(this.end - clock.now());
      return { not: pauseText ?? `booted, stage ${stage}${unmetText}` };
    }
    this.runningSince ??= clock.now();
    if (ready) return { done: this.accepted };
    if (clock.now() + poll < Math.min(this.runningSince + limits.verify, this.end))
      return { not: `not ready${unmetText}` };
    report(
      `warning: ${task.machine}: the machine runs but is not ready${unmetText}; Talos confirms an upgrade once the machine is ready, and rolls back if a boot fails before that`,
    );
    return { done: this.accepted };
  }

  /** Requests the reboot, as soon as the machine can accept the request. */
  private async request(): Promise<Look> {
    const { machine, clock, report, guard, poll } = this.run;
    const { stage } = await machine.status();
    // Talos accepts a reboot or an upgrade during a paused boot (talos,
    // internal/app/machined/pkg/runtime/sequencer.go).
    if (stage !== "running" && (await guard.pauseReason()) === undefined)
      return { not: `stage ${stage}` };
    if (this.drops >= STARTS)
      throw new CallError("refused", `the connection dropped ${STARTS} times during the request`);
    try {
      await this.start(this.before, Math.max(this.end - clock.now(), poll));
      this.accepted = true;
    } catch (error) {
      if (!isTransient(error)) throw error;
      if ((error as CallError).problem === "unreachable") this.drops++;
      report(
        `reboot: the machine has not accepted the request yet (${lastLine(error)}); checking the machine`,
      );
    }
    return sameBoot;
  }

  /** Finding for a machine that does not run again. */
  public failure(problem: string): FieldFinding {
    const { task } = this.run;
    const isUnreachable = this.lastSeen === "unreachable";
    return {
      field: `machines.${task.machine}`,
      problem,
      why: `${this.stateText()}. If its node was drained, the node stays cordoned`,
      remedy:
        isUnreachable && !runsImage(this.before, task)
          ? `look at the machine's console. ${onlyByConsole}. Then make the running image the default with \`talosctl -n ${task.address} rollback\`, and run again`
          : `look at ${isUnreachable ? "the machine's console" : `\`talosctl -n ${task.address} dmesg\``}, repair the cause and run again: the program continues from the state that it finds`,
    };
  }

  /** Finding for a machine that refused a call with this message. */
  public refusal(message: string): FieldFinding {
    const finding = this.failure(
      this.accepted
        ? `the machine accepted the request for the reboot, and then refused to show its state: ${message}`
        : `the machine was not rebooted: ${message}`,
    );
    if (!isPartitionFull(message)) return finding;
    return {
      ...finding,
      why: "its boot partition has no room for the new image next to the running one, and Talos never enlarges this partition. The machine keeps running its image. If its node was drained, the node stays cordoned",
      remedy: `${moreRoom}, then run again`,
    };
  }

  private stateText(): string {
    if (!this.accepted && this.drops === 0 && this.lastSeen === "same boot")
      return "the machine still runs the image that it ran before the request";
    return runsImage(this.before, this.run.task)
      ? "it is unknown whether the machine has rebooted"
      : "it is unknown whether the machine runs the wanted image";
  }
}

const sameBoot: Look = { not: "the boot id has not changed" };
