/** A terminal, as far as it decides what is written. */
export interface Terminal {
  /** Characters of a line. */
  columns: number;
  /** Whether texts may have colours. */
  colour: boolean;
  /** Whether a line may be written again in its place. */
  moves: boolean;
}

/** Properties that Node sets on a stream that is a terminal. */
interface Stream {
  isTTY?: boolean | undefined;
  columns?: number | undefined;
}

/** Characters of a line where a terminal does not say, as VT100 had them. */
const usualColumns = 80;

/**
 * The terminal that a stream leads to; undefined where it leads elsewhere, e.g. into a pipe or a file.
 *
 * @param environment with `NO_COLOR` (no-color.org: any text but the empty one), and `TERM=dumb` of terminals that
 * know no codes.
 */
export function terminalOf(stream: Stream, environment: NodeJS.ProcessEnv): Terminal | undefined {
  if (!stream.isTTY) return undefined;
  const isDumb = environment["TERM"] === "dumb";
  return {
    columns: stream.columns || usualColumns,
    colour: !isDumb && !environment["NO_COLOR"],
    moves: !isDumb,
  };
}
