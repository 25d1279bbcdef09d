import type { Clock } from "../clients/clock";
import { LONGEST_VARIABLE } from "../clients/longest-variable";

/** Prints one line of progress on standard error. The line must not contain a secret. */
export type Report = (line: string) => void;

/**
 * Number of bytes that ordinary lines may use. Warnings may use `WITH_WARNINGS`. Pulumi passes all lines to the next
 * run in an environment variable.
 */
const ORDINARY = LONGEST_VARIABLE / 2;
const WITH_WARNINGS = LONGEST_VARIABLE - 1024;

/**
 * Prints a run's progress lines, up to the number of bytes that Pulumi can pass to the next run. Warnings may use more
 * bytes than ordinary lines.
 */
export class BoundedProgress {
  private bytes = 0;
  private isToldOf = false;

  constructor(private readonly write: (line: string) => void) {}

  report(line: string): void {
    const bytes = Buffer.byteLength(line) + 1;
    const isWarning = /^(\S+: )*warning: /.test(line);
    if (this.bytes + bytes <= (isWarning ? WITH_WARNINGS : ORDINARY)) {
      this.bytes += bytes;
      this.write(line);
    } else if (!this.isToldOf) {
      this.isToldOf = true;
      this.write(
        "no further lines are printed: Pulumi passes this output to the next run in an environment variable, which is full",
      );
    }
  }
}

/** Runs phases: reports each phase when it starts, and measures its time. */
export class Phases<Name extends string = string> {
  readonly done: { name: Name; seconds: number }[] = [];

  constructor(
    private readonly clock: Clock,
    private readonly report: Report,
    /** Called at the start of each phase. */
    private readonly onBegin: (name: Name) => void = () => {},
  ) {}

  /**
   * Runs one phase. `description` is the text of the phase's progress line: what the phase does, and how long it may
   * take.
   */
  async run<T>(name: Name, description: string, work: () => Promise<T>): Promise<T> {
    this.onBegin(name);
    this.report(`${name}: ${description}`);
    const start = this.clock.now();
    const value = await work();
    this.done.push({ name, seconds: Math.round((this.clock.now() - start) / 100) / 10 });
    return value;
  }
}
