import { isNvidiaService } from "../../recipe/facts/extension";
import { readPatch } from "../../recipe/machine/user-patches";
import { Failure } from "../../clients/failure";
import { kubeletFails } from "../../clients/talos/console";
import type { Machine } from "../../clients/talos/talos-machine";

/** Inputs of a `BootGuard`. */
export interface BootGuardOptions {
  /** Name of the machine in the stack. */
  name: string;
  /** Remedy that lets the machine boot. */
  remedy: string;
  /** Prints the line about the first paused boot. */
  report: (line: string) => void;
  /**
   * Whether the configuration may get kernel modules while the machine boots. This is so in Omni, which applies the
   * image first and the configuration later. Default false.
   */
  modulesMayCome?: boolean;
}

/**
 * Ends the wait for a machine that boots again and again: if Talos cannot apply the machine's configuration, Talos
 * pauses the boot and later reboots (talos, internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_sequencer_tasks.go,
 * pauseOnFailure). The guard reports the first pause and lets the wait go on, because the machine boots if a user
 * corrects the configuration during the pause. The guard throws at a second pause, and at a pause that lasts longer
 * than the wait. It throws at once if a boot waits for a driver whose kernel module the configuration does not list.
 */
export class BootGuard {
  /** Boot ID of the first paused boot. */
  private pausedBoot?: string;
  /** Why the last paused boot did not go on. */
  problem?: string;

  constructor(
    private readonly machine: Machine,
    private readonly options: BootGuardOptions,
  ) {}

  /** Why the current boot does not end; undefined if the boot goes on, or if no boot is in progress. */
  async pauseReason(): Promise<string | undefined> {
    if (!(await this.isBooting())) return undefined;
    return (await this.bootErrorText()) ?? (await this.missingModulesText());
  }

  private async isBooting(): Promise<boolean> {
    return (await this.machine.status()).stage === "booting";
  }

  /** Talos' message about a paused boot. */
  private async bootErrorText(): Promise<string | undefined> {
    const errors = await this.machine.bootErrors();
    return errors.length === 0 ? undefined : `its boot does not go on: ${errors.join("; ")}`;
  }

  /**
   * Message about NVIDIA services that wait for a driver, although the configuration lists no kernel module of the
   * driver. Talos waits 70 minutes for these services, and then reboots (talos#14373).
   */
  private async missingModulesText(): Promise<string | undefined> {
    if (this.options.modulesMayCome) return undefined;
    const waiting = Object.entries(await this.machine.services())
      .filter(([name, state]) => isNvidiaService(name) && state === "Waiting")
      .map(([name]) => name);
    if (waiting.length === 0) return undefined;
    const { active = "" } = await this.machine.configurations();
    if (readPatch(active, "").modules.some(({ name }) => name.startsWith("nvidia")))
      return undefined;
    return `its boot does not end: ${waiting.join(" and ")} ${waiting.length === 1 ? "waits" : "wait"} for the driver, and the machine's configuration lists none of NVIDIA's kernel modules`;
  }

  /**
   * Checks, during a wait, whether the boot goes on.
   *
   * @param remainingTime Milliseconds until the wait ends; default: no limit.
   * @returns why the boot does not go on; undefined if it goes on.
   * @throws Failure if waiting longer cannot help.
   */
  async look(remainingTime = Infinity): Promise<string | undefined> {
    if (!(await this.isBooting())) return undefined;
    const problem = await this.bootErrorText();
    if (problem === undefined) {
      const missingModules = await this.missingModulesText();
      if (missingModules !== undefined) throw await this.failure(missingModules);
      return undefined;
    }
    const bootId = await this.machine.bootId();
    const isSecondPause = this.pausedBoot !== undefined && this.pausedBoot !== bootId;
    this.problem = problem;
    if (isSecondPause || pauseOf(problem) > remainingTime) throw await this.failure(problem);
    if (this.pausedBoot === undefined)
      this.options.report(`${problem}; ${await this.remedy(problem)}`);
    this.pausedBoot = bootId;
    return problem;
  }

  /** The failure for a boot that does not go on, however long the program waits. */
  async failure(problem: string): Promise<Failure> {
    const why =
      "Talos aborts such a boot after 5 to 70 minutes and reboots, again and again, until the configuration changes";
    return new Failure({
      field: `machines.${this.options.name}`,
      problem,
      why,
      remedy: await this.remedy(problem),
    });
  }

  /**
   * The remedy, and what its reboot does to an unconfirmed upgrade. A reboot that ends a pause rolls the upgrade back.
   * A reboot that ends Talos' wait for services does not roll it back (seen on Talos v1.13.0).
   */
  private async remedy(problem: string): Promise<string> {
    const revertsOnReboot =
      !problem.includes(kubeletFails) && (await this.machine.isUnconfirmed().catch(() => false));
    const nextStep = revertsOnReboot
      ? "The reboot that ends the pause also rolls back to the previous image, because Talos has not confirmed the upgrade. Then run again: one more reboot upgrades the machine"
      : "Then run again";
    return `${this.options.remedy}. ${nextStep}`;
  }
}

/** Milliseconds for which Talos pauses, or waits for the kubelet; 0 if the message contains no time. */
function pauseOf(problem: string): number {
  const minutes = /(?:rebooting in|Talos waits) (\d+) minutes/.exec(problem)?.[1];
  return Number(minutes ?? 0) * 60_000;
}
