import { Composer, type Document, Lexer, LineCounter, Parser, type CST } from "yaml";

/** Bounds for a YAML text. */
export interface Bounds {
  /** Greatest number of entries: single values, keys, lists and mappings. */
  entries: number;
  /** Greatest number of characters of all texts, including those that aliases repeat. */
  characters: number;
  /** Greatest number of the lexer's tokens: words, marks, blanks, ends of lines, comments. */
  tokens: number;
}

/**
 * Bounds of a user's file. A machine's configuration has some hundreds of entries, and the checks compare some entries
 * with each other. An entry has five or six tokens.
 */
export const ofFiles: Bounds = { entries: 10_000, characters: 2_000_000, tokens: 60_000 };

/**
 * Bounds of a file that lists machines (`nodes` of a talconfig.yaml or topf.yaml). A thousand machines with every field
 * of talhelper need 54,000 entries and 200,000 tokens; the bounds are about twice as high.
 */
export const ofFleets: Bounds = { entries: 100_000, characters: 2_000_000, tokens: 400_000 };

/**
 * Greatest number of entries of a machine in such a list. The checks compare few entries of a machine with those of
 * others, so a machine up to this size counts as one entry.
 */
export const ofMachine = 1_000;

/** The bounds of a user's file: `ofFleets` if it lists machines under `nodes`, else `ofFiles`. */
export const boundsOfFile = (text: string): Bounds => (/^nodes:/m.test(text) ? ofFleets : ofFiles);

/**
 * Bounds of a stack file. Pulumi accepts at most 128 KiB of configuration, but Pulumi's limit does not count comments
 * and the content of aliases.
 */
export const ofStacks: Bounds = { entries: 50_000, characters: 2_000_000, tokens: 100_000 };

/**
 * Bounds of a text from a machine or another server. A machine's API sends at most 32 MiB (talos,
 * pkg/machinery/constants, GRPCMaxMessageSize). Manifests and files in a configuration are single texts, so they need
 * few entries.
 */
export const ofServers: Bounds = { entries: 50_000, characters: 32 * 2 ** 20, tokens: 300_000 };

/** Deepest nesting that is read. The parser is recursive, and a thousand levels would crash the process. */
const deepest = 100;

/** Error for a text beyond a bound. */
class TooMuch extends Error {}

/** Whether an error says only that a text is beyond a bound, so that the text may be valid YAML. */
export const isBeyondBounds = (error: unknown): boolean => error instanceof TooMuch;

/** Error for a text with too many entries, including those of its aliases. */
export const tooManyEntries = (maxEntries: number): Error =>
  new TooMuch(`it has more than ${maxEntries} entries, with its aliases written out`);

/** Error for a text with too many characters, including those of its aliases. */
export const tooManyCharacters = (maxCharacters: number): Error =>
  new TooMuch(`it has more than ${maxCharacters} characters, with its aliases written out`);

/** Documents of a text. */
export interface Documents {
  documents: Document[];
  lineCounter: LineCounter;
  /** Number of tokens that were read, as a measure of the cost. */
  tokens: number;
}

/**
 * Documents of a text. For a text beyond the bounds, the result is one document without a value. The error of this
 * document names the bound. The function checks the bounds during the parsing, because the parser needs seconds for a
 * megabyte of blank lines, comments or brackets. A document lists its mistakes in `errors`; the first mistake names its
 * line and column.
 *
 * @param options options of the YAML parser.
 * @param isOne whether a text without a document gives one empty document instead of none.
 */
export function boundedDocuments(
  text: string,
  options: object,
  bounds: Bounds,
  isOne = false,
): Documents {
  const lineCounter = new LineCounter();
  const count = { tokens: 0 };
  // The parser compares each key with every other key, which takes quadratic time. So the caller looks for duplicates
  // with a set.
  const composer = new Composer({ ...options, uniqueKeys: false, logLevel: "silent" });
  try {
    const documents = [
      ...composer.compose(boundedTokens(text, bounds, lineCounter, count), isOne, text.length),
    ];
    for (const { errors } of documents) withPlace(errors[0], lineCounter);
    return { documents, lineCounter, ...count };
  } catch (error) {
    if (!(error instanceof TooMuch)) throw error;
    return { documents: [refused(error, composer)], lineCounter, ...count };
  }
}

/** An empty document with the error that kept the text from being read. */
function refused(error: TooMuch, composer: Composer): Document {
  const [document] = [...composer.end(true, 0)].slice(-1);
  const empty = document as unknown as Document;
  empty.contents = null;
  empty.errors = [
    Object.assign(error, { pos: [0, 0] }) as unknown as (typeof empty.errors)[number],
  ];
  return empty;
}

/** The parser's tokens for a text, as `Parser.parse` yields them. Throws at the first token beyond a bound. */
function* boundedTokens(
  text: string,
  bounds: Bounds,
  lineCounter: LineCounter,
  count: Pick<Documents, "tokens">,
): Generator<CST.Token> {
  const parser = new Parser(lineCounter.addNewLine);
  lineCounter.addNewLine(0);
  let entries = 0;
  for (const lexeme of new Lexer().lex(text)) {
    if (lexeme === SCALAR && ++entries > bounds.entries) throw tooManyEntries(bounds.entries);
    if (++count.tokens > bounds.tokens)
      throw new TooMuch(
        `it has more than ${bounds.tokens} YAML tokens (words, marks, blanks and comments)`,
      );
    yield* parser.next(lexeme);
    if (parser.stack.length > deepest)
      throw new TooMuch(`its entries are nested more than ${deepest} deep`);
  }
  yield* parser.end();
}

/** Token that the lexer emits before each plain or quoted text (yaml, parse/cst.ts). */
const SCALAR = "\u001f";

/** Adds line and column to an error of the parser, but not the line's text, which may be long and contain a secret. */
function withPlace(
  error: { message: string; pos: [number, number] } | undefined,
  lineCounter: LineCounter,
): void {
  if (error === undefined) return;
  const { line, col } = lineCounter.linePos(error.pos[0]);
  error.message = `${error.message} at line ${line}, column ${col}:`;
}
