import { secretIn } from "./secret-text";

/** What is wrong with a text, in the three parts of a finding. */
export interface Fault {
  problem: string;
  why: string;
  remedy: string;
}

/** A rule about a text: what is wrong with it; undefined when nothing is. */
export interface Rule {
  (text: string): Fault | undefined;
  /** Regular expression that fits every text which the rule takes, and others maybe: what an editor can check by. */
  readonly pattern?: string;
}

/** A rule with the pattern that editors get. */
export function withPattern(pattern: RegExp, rule: Rule): Rule {
  return Object.assign((text: string) => rule(text), { pattern: pattern.source });
}

/** Longest piece of a user's text that a message repeats. */
const shownLength = 80;

/** A text of the user's as a message shows it: in quotes, cut, on one line, and never when it is a secret. */
export function shown(text: string): string {
  if (secretIn(text) !== undefined) return '"…" (a secret, not shown)';
  const printed = JSON.stringify(text.slice(0, shownLength)).slice(1, -1).replaceAll('\\"', '"');
  return `"${printed}${text.length > shownLength ? "…" : ""}"`;
}

/** A rule that holds where a test does; `problem` follows the text itself in the message. */
export function ruleOf(test: (text: string) => boolean, problem: string, why: string, remedy: string): Rule {
  return (text) => (test(text) ? undefined : { problem: `${shown(text)} ${problem}`, why, remedy });
}
