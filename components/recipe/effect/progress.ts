/**
 * Progress of an update on a machine. `skipped`: nothing had to change. `under way`: a change began, and continues to
 * its end even if another machine fails. `configured`: the machine has its new configuration, but another machine
 * failed before the upgrade that would apply it.
 */
export type Progress = "done" | "skipped" | "under way" | "configured" | "failed" | "not started";

/** Progress of a machine, and whether it is cordoned. */
export interface MachineResult {
  progress: Progress;
  /** Whether the update has cordoned the node and ended without uncordoning it. */
  cordoned?: boolean;
}

/** Pulumi's reports about a machine's resources in this update. */
class MachineUpdate {
  /** Names of the machine's resources that Pulumi is creating or updating. */
  readonly running = new Set<string>();
  begun = false;
  upgraded = false;
  /** Whether all resources of the machine are done, or none had to change. */
  settled = false;
  failed = false;
  cordoned = false;
}

/** Tracks the progress of an update on each machine by the start and the end of its resources. */
export class UpdateProgress {
  private readonly machines: Map<string, MachineUpdate>;
  private failed = false;

  /** @param machines node names, in the order of the update. */
  constructor(machines: string[]) {
    this.machines = new Map(machines.map((machine) => [machine, new MachineUpdate()]));
  }

  /** Records that Pulumi starts to create or update a resource of a machine. */
  begins(machine: string, resource: string): void {
    const state = this.machines.get(machine);
    state?.running.add(resource);
    if (state) state.begun = true;
  }

  /** Records that Pulumi has created or updated a resource. `upgrade`: whether this resource reboots the machine. */
  ends(machine: string, resource: string, upgrade: boolean): void {
    const state = this.machines.get(machine);
    state?.running.delete(resource);
    if (state && upgrade) state.upgraded = true;
  }

  /** Records a failure of a machine, or of the update as a whole. */
  fails(machine?: string, cordoned = false): void {
    this.failed = true;
    const state = this.machines.get(machine ?? "");
    if (state) Object.assign(state, { failed: true, cordoned });
  }

  /** Records that all resources of a machine are done, or that none had to change. */
  settles(machine: string): void {
    const state = this.machines.get(machine);
    if (state) state.settled = true;
  }

  /** Whether the update failed and no machine is under way any longer, so that nothing changes any more. */
  isOver(): boolean {
    return (
      this.failed &&
      [...this.machineResults().values()].every(({ progress }) => progress !== "under way")
    );
  }

  /** Progress of each machine, in the order of the update. */
  machineResults(): Map<string, MachineResult> {
    const standingOf = (state: MachineUpdate): MachineResult => ({
      progress: this.progressOf(state),
      ...(state.cordoned ? { cordoned: true } : {}),
    });
    return new Map([...this.machines].map(([machine, state]) => [machine, standingOf(state)]));
  }

  private progressOf(state: MachineUpdate): Progress {
    if (state.failed) return "failed";
    if (state.running.size > 0) return "under way";
    if (state.settled) return state.begun ? "done" : "skipped";
    if (!state.begun) return "not started";
    // After a failure Pulumi starts no further resource, so a machine that was under way still needs its upgrade.
    if (!this.failed) return "under way";
    return state.upgraded ? "done" : "configured";
  }
}

/** Kinds of progress, in the order of the report. */
const words: Progress[] = ["failed", "under way", "configured", "not started", "done", "skipped"];

/** Greatest number of machine names in a line, because the names of a fleet would fill the screen. */
const mostNames = 20;

/**
 * Result of each machine, with a line for each kind of result; the machines of a line are in the order of the update.
 *
 * @param machines results by node name, in the order of the update.
 */
export function describeProgress(machines: Map<string, MachineResult>): string {
  const line = (
    title: string,
    isIncluded: (standing: MachineResult) => boolean | undefined,
    hint = "",
  ): string[] => {
    const names = [...machines]
      .filter(([, standing]) => isIncluded(standing))
      .map(([name]) => name);
    const moreText = names.length > mostNames ? ` and ${names.length - mostNames} more` : "";
    return names.length === 0
      ? []
      : [`  ${title} (${names.length}): ${names.slice(0, mostNames).join(", ")}${moreText}${hint}`];
  };
  const uncordon =
    "; until the machine's upgrade succeeds, or until you run the uncordon command that the failure above shows";
  return [
    "State of the machines",
    ...words.flatMap((word) =>
      line(
        word === "configured" ? "configured, not upgraded" : word,
        ({ progress }) => progress === word,
      ),
    ),
    ...line("cordoned", (standing) => standing.cordoned, uncordon),
  ].join("\n");
}
