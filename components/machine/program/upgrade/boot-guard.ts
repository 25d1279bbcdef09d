import { Failure } from "../failure";
import type { Machine } from "../machine";

/** What is said of a boot that does not go on, apart from what is wrong with it. */
export interface BootGuardWords {
  /** Machine in the stack. */
  name: string;
  /** How to get it to boot. */
  remedy: string;
  /** Told once, when the first such boot is seen. */
  report: (line: string) => void;
}

/**
 * Sees to it that nobody waits for a machine that boots again and again: Talos pauses where its configuration does not let
 * it go on, and then begins anew (talos, internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_sequencer_tasks.go,
 * pauseOnFailure). The first pause is told and waited for, since who corrects the configuration in it gets a machine that
 * boots; unless the wait ends before the pause does.
 */
export class BootGuard {
  /** Boot id of the first boot that was seen paused. */
  private pausedBoot?: string;

  constructor(
    private readonly machine: Machine,
    private readonly words: BootGuardWords,
  ) {}

  /** Why the boot is paused, as the machine says now; undefined when it goes on, or is over one way or the other. */
  async paused(): Promise<string | undefined> {
    if ((await this.machine.status()).stage !== "booting") return undefined;
    const errors = await this.machine.bootErrors();
    return errors.length === 0 ? undefined : `its boot does not go on: ${errors.join("; ")}`;
  }

  /**
   * Looks whether the boot goes on, while it is waited for.
   *
   * @param left Milliseconds that are left to wait; default: enough for another boot.
   * @returns why it does not go on; undefined when it does.
   * @throws Failure when there is nothing left to wait for.
   */
  async look(left = Infinity): Promise<string | undefined> {
    const problem = await this.paused();
    if (problem === undefined) return undefined;
    const bootId = await this.machine.bootId();
    const again = this.pausedBoot !== undefined && this.pausedBoot !== bootId;
    if (again || pauseOf(problem) > left) throw this.failure(problem);
    if (this.pausedBoot === undefined) this.words.report(`${problem}; ${this.words.remedy}`);
    this.pausedBoot = bootId;
    return problem;
  }

  /** That a boot does not go on, and nothing that waits for the next one changes that. */
  failure(problem: string): Failure {
    const { name, remedy } = this.words;
    const why =
      "Talos pauses there and reboots, again and again, and CRI and kubelet do not start until its configuration is another one";
    return new Failure([{ field: `machines.${name}`, problem, why, remedy: `${remedy}; then run again` }]);
  }
}

/** Milliseconds of the pause that Talos announces; 0 when it announces none. */
function pauseOf(problem: string): number {
  const minutes = /rebooting in (\d+) minutes/.exec(problem)?.[1];
  return Number(minutes ?? 0) * 60_000;
}
