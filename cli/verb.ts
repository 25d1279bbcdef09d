/** One option of a verb. */
export interface Option {
  /** Name of its value in the help. Without it the option is a switch. */
  value?: string;
  /** Its effect, in one line of `--help`. */
  help: string;
}

/** Arguments of a verb. */
export interface Given {
  /** Values of options with one, by name; of one that may be repeated, all of them. */
  values: Record<string, string[]>;
  switches: ReadonlySet<string>;
  positionals: string[];
  environment: NodeJS.ProcessEnv;
}

/** Where a verb writes, so that a test can read it. */
export interface Output {
  /**
   * Results: standard output. `isPrintable`: of what came from outside, the text has printable forms alone, and the
   * rest is meant to act.
   */
  result(text: string, isPrintable?: true): void;
  /** Remarks: standard error. */
  remark(text: string): void;
  /** Whether results may be coloured. */
  colour: boolean;
  /** Characters of a line where results go to a terminal; undefined where a program reads them. */
  columns?: number | undefined;
}

/** One thing that the command does. */
export interface Verb {
  /** In one line. */
  summary: string;
  /** The argument that it needs; none without. `several`: it may be repeated. */
  argument?: { name: string; several?: true };
  options: Record<string, Option>;
  /** Further text of its `--help`. */
  more?: string;
  /** Does it; gives the exit status: 0 well, 1 findings, 2 could not look or do it. */
  run(given: Given, output: Output): Promise<number>;
}

/** The last value of an option, if it was given. */
export const valueOf = ({ values }: Given, name: string): string | undefined =>
  values[name]?.at(-1);

/** Error that ends a verb for several reasons, each a line. */
export class SeveralFaults extends Error {
  constructor(readonly faults: readonly string[]) {
    super(faults.join("\n"));
  }
}
