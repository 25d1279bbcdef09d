/** One option of a verb. */
export interface Option {
  /** Name of its value in the help. Without it the option is a switch. */
  value?: string;
  /** Its effect, in one line of `--help`. */
  help: string;
}

/** Arguments of a verb. */
export interface ParsedArgs {
  /** Values of options by name: one value, or all values of an option that may be repeated. */
  values: Record<string, string[]>;
  switches: ReadonlySet<string>;
  positionals: string[];
  environment: NodeJS.ProcessEnv;
}

/** Output of a verb, which tests replace. */
export interface Output {
  /**
   * Writes a result to standard output. `isPrintable`: texts from outside are already escaped, and remaining control
   * characters are intended.
   */
  result(text: string, isPrintable?: true): void;
  /** Writes a remark to standard error. */
  remark(text: string): void;
  /** Whether results may have colours. */
  colour: boolean;
  /** Characters of a line if results go to a terminal; undefined if a program reads them. */
  columns?: number | undefined;
}

/** A verb of the command. */
export interface Verb {
  /** Its effect, in one line of the help. */
  summary: string;
  /** Its required argument; undefined if it has none. `several`: the argument may be repeated. */
  argument?: { name: string; several?: true };
  options: Record<string, Option>;
  /** Further text of its `--help`. */
  more?: string;
  /** Runs the verb, and returns the exit status: 0 success, 1 findings, 2 failed or could not read everything. */
  run(args: ParsedArgs, output: Output): Promise<number>;
}

/** The last value of an option, if it was given. */
export const valueOf = ({ values }: ParsedArgs, name: string): string | undefined =>
  values[name]?.at(-1);

/** Error that ends a verb for several reasons, one line each. */
export class SeveralFaults extends Error {
  constructor(readonly faults: readonly string[]) {
    super(faults.join("\n"));
  }
}
