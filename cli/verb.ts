/** One option of a verb. */
export interface Option {
  /** Name of the option's value in the help; undefined if the option is a switch. */
  value?: string;
  /** What the option does, in one line of `--help`. */
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
   * Writes a result to standard output. With `isPrintable`, texts from files and clusters are already escaped, and the
   * remaining control characters are intended.
   */
  result(text: string, isPrintable?: true): void;
  /** Writes a remark to standard error. */
  remark(text: string): void;
  /** Whether results may have colours. */
  colour: boolean;
  /** Width of the terminal in characters; undefined if results do not go to a terminal. */
  columns?: number | undefined;
}

/** A verb of the command. */
export interface Verb {
  /** What the verb does, in one line of the help. */
  summary: string;
  /** Its required argument; undefined if it has none. `several`: the argument may be repeated. */
  argument?: { name: string; several?: true };
  options: Record<string, Option>;
  /** Further text of its `--help`. */
  more?: string;
  /**
   * Runs the verb, and returns the exit status: 0 for success, 1 for findings, 2 if the verb failed or could not read
   * everything.
   */
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
