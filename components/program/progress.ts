import type { Clock } from "../clients/clock";
import { LONGEST_VARIABLE } from "../clients/longest-variable";

/** Tells what happens: one line each, on standard error. Never holds a secret. */
export type Report = (line: string) => void;

/** Bytes of ordinary lines, and of warnings behind them. Both together reach the next run by its environment. */
const ORDINARY = LONGEST_VARIABLE / 2;
const WITH_WARNINGS = LONGEST_VARIABLE - 1024;

/** Lines of a run that ends well, as many as the next run can be handed. Warnings have room of their own. */
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
        "further lines are left out: the next run gets these lines by its environment, which has no room for more",
      );
    }
  }
}

/** Names phases as they start and measures them. */
export class Phases<Name extends string = string> {
  readonly done: { name: Name; seconds: number }[] = [];

  constructor(
    private readonly clock: Clock,
    private readonly report: Report,
    /** Called as each begins. */
    private readonly begins: (name: Name) => void = () => {},
  ) {}

  /** Runs one phase. `says` is its line: what it does and how long it may take. */
  async run<T>(name: Name, says: string, work: () => Promise<T>): Promise<T> {
    this.begins(name);
    this.report(`${name}: ${says}`);
    const start = this.clock.now();
    const value = await work();
    this.done.push({ name, seconds: Math.round((this.clock.now() - start) / 100) / 10 });
    return value;
  }
}
