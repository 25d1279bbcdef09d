import type { Clock } from "../../clients/clock";

/** Tells what happens: one line each, on standard error. Never holds a secret. */
export type Report = (line: string) => void;

/** Names phases as they start and measures them. */
export class Phases<Name extends string = string> {
  readonly done: { name: Name; seconds: number }[] = [];

  constructor(
    private readonly clock: Clock,
    private readonly report: Report,
    /** Told of each as it begins. */
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
