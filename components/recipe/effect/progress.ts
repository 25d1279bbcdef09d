/**
 * How far an update is with a machine. `skipped`: nothing of it had to change. `under way`: something of it began,
 * and ends by itself even where another machine has failed. `configured`: it has its new configuration, which its
 * upgrade would have brought into effect; the failure of another machine came between.
 */
export type Progress = "done" | "skipped" | "under way" | "configured" | "failed" | "not started";

/** Where a machine stands. */
export interface Standing {
  progress: Progress;
  /** Its node takes no pods, since the update cordoned it and did not come to its end. */
  cordoned?: boolean;
}

/** Pulumi's reports about a machine's resources in this update. */
class Told {
  /** Names of its resources that are being created or updated. */
  readonly running = new Set<string>();
  begun = false;
  upgraded = false;
  /** Everything of it is through, or nothing had to be. */
  settled = false;
  failed = false;
  cordoned = false;
}

/** Keeps how far an update is with each machine, from what begins and ends. */
export class UpdateProgress {
  private readonly machines: Map<string, Told>;
  private failed = false;

  /** @param machines node names, in the order of the update. */
  constructor(machines: string[]) {
    this.machines = new Map(machines.map((machine) => [machine, new Told()]));
  }

  /** A resource of a machine is about to be created or updated. */
  begins(machine: string, resource: string): void {
    const told = this.machines.get(machine);
    told?.running.add(resource);
    if (told) told.begun = true;
  }

  /** It was; `upgrade` tells whether it is the one that reboots the machine. */
  ends(machine: string, resource: string, upgrade: boolean): void {
    const told = this.machines.get(machine);
    told?.running.delete(resource);
    if (told && upgrade) told.upgraded = true;
  }

  /** Something failed: of this machine, or of none of them. */
  fails(machine?: string, cordoned = false): void {
    this.failed = true;
    const told = this.machines.get(machine ?? "");
    if (told) Object.assign(told, { failed: true, cordoned });
  }

  /** Everything of a machine is through, or nothing had to be. */
  settles(machine: string): void {
    const told = this.machines.get(machine);
    if (told) told.settled = true;
  }

  /** Whether something failed, and what was under way then is through: nothing changes any more. */
  over(): boolean {
    return (
      this.failed &&
      [...this.standings().values()].every(({ progress }) => progress !== "under way")
    );
  }

  /** Where each machine stands, in the order of the update. */
  standings(): Map<string, Standing> {
    const standingOf = (told: Told): Standing => ({
      progress: this.progressOf(told),
      ...(told.cordoned ? { cordoned: true } : {}),
    });
    return new Map([...this.machines].map(([machine, told]) => [machine, standingOf(told)]));
  }

  private progressOf(told: Told): Progress {
    if (told.failed) return "failed";
    if (told.running.size > 0) return "under way";
    if (told.settled) return told.begun ? "done" : "skipped";
    if (!told.begun) return "not started";
    // After a failure nothing new begins: of a machine that was under way its upgrade is what was left.
    if (!this.failed) return "under way";
    return told.upgraded ? "done" : "configured";
  }
}

/** In the order of the report. */
const words: Progress[] = ["failed", "under way", "configured", "not started", "done", "skipped"];

/** Names that a line has at most: a fleet's would fill the screen. */
const most = 20;

/**
 * Result of each machine, with a line for each kind of result; the machines of a line are in the order of the update.
 *
 * @param machines by node name, in the order of the update.
 */
export function describeProgress(machines: Map<string, Standing>): string {
  const line = (word: string, is: (standing: Standing) => boolean | undefined): string[] => {
    const names = [...machines].filter(([, standing]) => is(standing)).map(([name]) => name);
    const more = names.length > most ? ` and ${names.length - most} more` : "";
    return names.length === 0
      ? []
      : [`  ${word} (${names.length}): ${names.slice(0, most).join(", ")}${more}`];
  };
  const cordoned =
    "cordoned (until the machine's upgrade succeeds; the failure above names the command to give up)";
  return [
    "State of the machines",
    ...words.flatMap((word) =>
      line(
        word === "configured" ? "configured, not upgraded" : word,
        ({ progress }) => progress === word,
      ),
    ),
    ...line(cordoned, (standing) => standing.cordoned),
  ].join("\n");
}
