/** The properties of a terminal that affect the output. */
export interface Terminal {
  /** Characters of a line. */
  columns: number;
  /** Whether texts may have colours. */
  colour: boolean;
  /** Whether a line may be overwritten. */
  moves: boolean;
}

/** Properties that Node sets on a stream that is a terminal. */
interface Stream {
  isTTY?: boolean | undefined;
  columns?: number | undefined;
}

/** Default number of characters of a line, as of a VT100. */
const usualColumns = 80;

/**
 * The terminal of a stream; undefined if the stream is a pipe or a file.
 *
 * @param environment may have `NO_COLOR` (no-color.org: any text but the empty one), or `TERM=dumb` for a terminal that
 * knows no control codes.
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
