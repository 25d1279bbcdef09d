import { secretIn } from "./secret-text";

/**
 * How much a finding matters. `refused`: the stack must not be applied. `warning`: something may go wrong, or has to
 * be done. `note`: what was assumed, or is good to know.
 */
export type Severity = "refused" | "warning" | "note";

/** The three texts of a finding: problem, reason and remedy. */
export interface FindingText {
  problem: string;
  why: string;
  remedy: string;
  /** How much it matters, if that differs from the severity of the check that finds it. */
  severity?: Severity;
}

/** A finding about a field of a stack. */
export interface FieldFinding extends FindingText {
  /** Its path, e.g. `machines.gpu-1.extensions`. */
  field: string;
}

/** A rule about a text: what is wrong with it; undefined when nothing is. */
export interface Rule {
  (text: string): FindingText | undefined;
  /** Regular expression that fits every text which the rule takes, and others maybe: what an editor can check by. */
  readonly pattern?: string;
}

/** Longest piece of a user's text that a message repeats. */
const shownLength = 80;

/** A text of the user's as a message shows it: in quotes, cut, on one line, and never when it is a secret. */
export function shown(text: string): string {
  if (secretIn(text) !== undefined) return '"…" (a secret, not shown)';
  const printed = JSON.stringify(text.slice(0, shownLength)).slice(1, -1).replaceAll('\\"', '"');
  return `"${printed}${text.length > shownLength ? "…" : ""}"`;
}

/**
 * A rule from a function that says what is wrong, which follows the text itself in the message.
 *
 * @param pattern that editors get. Default: none.
 */
export function ruleFrom(
  problemOf: (said: string) => string | undefined,
  { why, remedy }: Omit<FindingText, "problem">,
  pattern?: RegExp,
): Rule {
  const rule = (said: string): FindingText | undefined => {
    const problem = problemOf(said);
    return problem === undefined
      ? undefined
      : { problem: `${shown(said)} ${problem}`, why, remedy };
  };
  return Object.assign(rule, pattern && { pattern: pattern.source });
}

/**
 * A rule that a text keeps if a test holds.
 *
 * @param finding of a text that breaks it; `problem` follows the text itself in the message.
 * @param pattern that editors get. Default: the test, if it is a regular expression.
 */
export const ruleOf = (
  test: RegExp | ((said: string) => boolean),
  { problem, ...rest }: FindingText,
  pattern = test instanceof RegExp ? test : undefined,
): Rule => {
  const holds = (said: string): boolean => (test instanceof RegExp ? test.test(said) : test(said));
  return ruleFrom((said) => (holds(said) ? undefined : problem), rest, pattern);
};
