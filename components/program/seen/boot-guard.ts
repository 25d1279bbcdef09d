import { isNvidiaService } from "../../recipe/facts/extension";
import { readPatch } from "../../recipe/machine/user-patches";
import { Failure } from "../../clients/failure";
import { kubeletFails } from "../../clients/talos/console";
import type { Machine } from "../../clients/talos/talos-machine";

/** Inputs of a guard of a machine's boots. */
export interface BootGuardOptions {
  /** Machine in the stack. */
  name: string;
  /** How to get it to boot. */
  remedy: string;
  /** Told once, when the first such boot is seen. */
  report: (line: string) => void;
  /**
   * Whether kernel modules may come into the configuration while the machine boots: Omni brings image and
   * configuration one by one. Default false.
   */
  modulesMayCome?: boolean;
}

/**
 * Ends the wait for a machine that boots again and again: Talos pauses where its configuration does not let
 * it go on, and then begins again (talos, internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_sequencer_tasks.go,
 * pauseOnFailure). The first pause is reported and awaited: a user who corrects the configuration during it gets a
 * machine that boots; unless the wait ends before the pause does. A boot that waits for a driver that no module
 * brings is reported at once: nothing corrects that by itself.
 */
export class BootGuard {
  /** Boot id of the first boot that was seen paused. */
  private pausedBoot?: string;
  /** Why the last boot that was seen paused did not go on. */
  problem?: string;

  constructor(
    private readonly machine: Machine,
    private readonly options: BootGuardOptions,
  ) {}

  /** Why the boot does not end, as the machine says now; undefined when it goes on, or is over one way or the other. */
  async paused(): Promise<string | undefined> {
    if (!(await this.boots())) return undefined;
    return (await this.erring()) ?? (await this.withoutModules());
  }

  private async boots(): Promise<boolean> {
    return (await this.machine.status()).stage === "booting";
  }

  /** Talos' message about a paused boot. */
  private async erring(): Promise<string | undefined> {
    const errors = await this.machine.bootErrors();
    return errors.length === 0 ? undefined : `its boot does not go on: ${errors.join("; ")}`;
  }

  /**
   * The image's NVIDIA services wait for a driver, and the configuration names no module that would bring it: Talos
   * waits for them for 70 minutes, and then reboots (talos#14373).
   */
  private async withoutModules(): Promise<string | undefined> {
    if (this.options.modulesMayCome) return undefined;
    const waiting = Object.entries(await this.machine.services())
      .filter(([name, state]) => isNvidiaService(name) && state === "Waiting")
      .map(([name]) => name);
    if (waiting.length === 0) return undefined;
    const { active = "" } = await this.machine.configurations();
    if (readPatch(active, "").modules.some(({ name }) => name.startsWith("nvidia")))
      return undefined;
    return `its boot does not end: ${waiting.join(", ")} waits for the driver, and its configuration names none of NVIDIA's kernel modules`;
  }

  /**
   * Looks whether the boot goes on, while it is waited for.
   *
   * @param left Milliseconds that are left to wait; default: enough for another boot.
   * @returns why it does not go on; undefined when it does.
   * @throws Failure when there is nothing left to wait for.
   */
  async look(left = Infinity): Promise<string | undefined> {
    if (!(await this.boots())) return undefined;
    const problem = await this.erring();
    if (problem === undefined) {
      const driverless = await this.withoutModules();
      if (driverless !== undefined) throw await this.failure(driverless);
      return undefined;
    }
    const bootId = await this.machine.bootId();
    const again = this.pausedBoot !== undefined && this.pausedBoot !== bootId;
    this.problem = problem;
    if (again || pauseOf(problem) > left) throw await this.failure(problem);
    if (this.pausedBoot === undefined)
      this.options.report(`${problem}; ${await this.remedy(problem)}`);
    this.pausedBoot = bootId;
    return problem;
  }

  /** That a boot does not go on, and nothing that waits for the next one changes that. */
  async failure(problem: string): Promise<Failure> {
    const why =
      "Talos gives such a boot up after 5 to 70 minutes and reboots, again and again, until its configuration changes";
    return new Failure({
      field: `machines.${this.options.name}`,
      problem,
      why,
      remedy: await this.remedy(problem),
    });
  }

  /**
   * How to get it to boot, and what comes of that: a reboot that ends Talos' wait for services takes no upgrade back,
   * unlike one that ends a pause (seen on Talos v1.13.0).
   */
  private async remedy(problem: string): Promise<string> {
    const takesBack =
      !problem.includes(kubeletFails) && (await this.machine.isUnconfirmed().catch(() => false));
    const then = takesBack
      ? "that reboot also rolls back to the previous image, since Talos has not confirmed the upgrade: then run again, which upgrades with one more reboot"
      : "then run again";
    return `${this.options.remedy}; ${then}`;
  }
}

/** Milliseconds of the pause that Talos announces, or that it waits for the kubelet; 0 if neither is known. */
function pauseOf(problem: string): number {
  const minutes = /(?:rebooting in|Talos waits) (\d+) minutes/.exec(problem)?.[1];
  return Number(minutes ?? 0) * 60_000;
}
