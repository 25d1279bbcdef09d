import { valueAt } from "../mapping";
import { secretIn } from "./secret-text";

/** What is wrong with a text, in the three parts of a finding. */
export interface Fault {
  problem: string;
  why: string;
  remedy: string;
  /** Whether it only has no effect, so that nothing goes wrong with it. Absent where something does. */
  dead?: true;
}

/**
 * What is wrong, by a text of a table: `what is wrong; why it matters; what to do`.
 *
 * @param things that its places are filled from: `{machine.name}` is the name of what is given as `machine`. A list is told with commas.
 */
export function faultOf(text: string, things: Record<string, unknown> = {}): Fault {
  const [problem, why, ...remedy] = text.split("; ").map((part) =>
    part.replace(/\{([a-z][\w.]*)\}/gi, (_, place: string) => {
      const thing = valueAt(things, ...place.split("."));
      return Array.isArray(thing) ? thing.join(", ") : String(thing);
    }),
  );
  return { problem: problem!, why: why!, remedy: remedy.join("; ") };
}

/** What is wrong with a field of a stack. */
export interface Problem extends Fault {
  /** Its path, e.g. `machines.gpu-1.extensions`. */
  field: string;
}

/** What is wrong with a field, by a text of a table. */
export const problemAt = (field: string, text: string, things?: Record<string, unknown>): Problem => ({
  field,
  ...faultOf(text, things),
});

/** A rule about a text: what is wrong with it; undefined when nothing is. */
export interface Rule {
  (text: string): Fault | undefined;
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
 * @param text of a table, in which it is called `flaw`.
 * @param pattern that editors get. Default: none.
 */
export function flawRule(flawOf: (said: string) => string | undefined, text: string, pattern?: RegExp): Rule {
  const rule = (said: string): Fault | undefined => {
    const flaw = flawOf(said);
    if (flaw === undefined) return undefined;
    const { problem, ...rest } = faultOf(text, { flaw });
    return { problem: `${shown(said)} ${problem}`, ...rest };
  };
  return Object.assign(rule, pattern && { pattern: pattern.source });
}

/** A rule that holds where a test does. */
export const ruleOf = (
  test: RegExp | ((said: string) => boolean),
  text: string,
  pattern = test instanceof RegExp ? test : undefined,
): Rule =>
  flawRule((said) => ((test instanceof RegExp ? test.test(said) : test(said)) ? undefined : ""), text, pattern);
