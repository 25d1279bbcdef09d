import { secretIn } from "./secret-text";

/**
 * Severity of a finding. `refused`: the stack must not be applied. `warning`: an update may fail, or the user must act.
 * `note`: an assumption, or useful information.
 */
export type Severity = "refused" | "warning" | "note";

/** The three texts of a finding: problem, reason and remedy. */
export interface FindingText {
  problem: string;
  why: string;
  remedy: string;
  /** Severity, if it differs from that of the check. */
  severity?: Severity;
  /**
   * Texts that replace `why` and `remedy` if `talos-gpu check` finds the problem in a file that belongs to no stack.
   * `false`: the finding does not apply to such a file.
   */
  ofFiles?: Partial<Pick<FindingText, "why" | "remedy">> | false;
}

/** A finding about a field of a stack. */
export interface FieldFinding extends FindingText {
  /** Its path, e.g. `machines.gpu-1.extensions`. */
  field: string;
  /** Place of the value, if it is in a file of another tool. */
  place?: { file: string; line: number };
}

/** The problem of a finding, followed by the place of the value: `… (helmrelease.yaml:23)`. */
export const placedProblem = ({ problem, place }: FieldFinding): string =>
  place === undefined ? problem : `${problem} (${place.file}:${place.line})`;

/** A rule for a text. It returns the mistake, or undefined. */
export interface Rule {
  (text: string): FindingText | undefined;
  /**
   * Regular expression for editors. The expression matches every text that the rule accepts, and may also match other
   * texts.
   */
  readonly pattern?: string;
}

/** Greatest number of characters of a user's text in a message. */
const shownLength = 80;

/** A user's text for a message: in quotes, shortened, and on one line. A secret is not shown. */
export function shown(text: string): string {
  if (secretIn(text) !== undefined) return '"…" (a secret, not shown)';
  const printed = JSON.stringify(text.slice(0, shownLength)).slice(1, -1).replaceAll('\\"', '"');
  return `"${printed}${text.length > shownLength ? "…" : ""}"`;
}

/**
 * Makes a rule from a function that returns the problem. The message is the text, followed by the problem.
 *
 * @param pattern regular expression for editors (`Rule.pattern`). Default: none.
 */
export function ruleFrom(
  problemOf: (text: string) => string | undefined,
  { why, remedy }: Omit<FindingText, "problem">,
  pattern?: RegExp,
): Rule {
  const rule = (text: string): FindingText | undefined => {
    const problem = problemOf(text);
    return problem === undefined
      ? undefined
      : { problem: `${shown(text)} ${problem}`, why, remedy };
  };
  return Object.assign(rule, pattern && { pattern: pattern.source });
}

/**
 * Makes a rule from a test.
 *
 * @param finding finding about a text that fails the test. The message is the text, followed by `problem`.
 * @param pattern regular expression for editors (`Rule.pattern`). Default: the test, if the test is a regular
 * expression.
 */
export const ruleOf = (
  test: RegExp | ((text: string) => boolean),
  { problem, ...explanation }: FindingText,
  pattern = test instanceof RegExp ? test : undefined,
): Rule => {
  const matches = (text: string): boolean =>
    test instanceof RegExp ? test.test(text) : test(text);
  return ruleFrom((text) => (matches(text) ? undefined : problem), explanation, pattern);
};
