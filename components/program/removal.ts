import { waitOrFail, type Clock } from "../clients/clock";
import type { FieldFinding } from "../clients/failure";

/**
 * Milliseconds that an answer is waited for, less than the five minutes that the resource has, and between two tries.
 */
export const lastAnswer = { limit: 240_000, poll: 1_000 };

/** Whom a removal asks, and what of. */
interface AskedLast {
  clock: Clock;
  /** Node name of the machine that leaves the stack. */
  machine: string;
  /** Who is asked, e.g. `the machine at 10.0.0.1`. */
  who: string;
  /** Name of the removed part. Default: the stack's part of the machine's configuration. */
  part?: typeof configurationPart;
}

/** How the URN of its resource ends, and what it means that it could not be taken back. */
const configurationPart = {
  ending: "-configuration",
  why: "the machine leaves the stack, and what the stack added to its configuration could not be taken out",
};

/**
 * Makes a call that a removal needs, and repeats it for four minutes. The server may never answer again: Pulumi keeps
 * the resource until its removal succeeds, so the message says how a stack forgets it.
 *
 * @throws Failure where there is no answer, or a refusal.
 */
export function askLast<T>(asked: AskedLast, ask: () => Promise<T>): Promise<T> {
  const { clock, machine, who, part = configurationPart } = asked;
  const failed = (problem: string): FieldFinding => ({
    field: `machines.${machine}`,
    problem: `${who} ${problem}`,
    why: part.why,
    remedy: `if ${who} is still in use, make sure that it is on and that the update has credentials for it, then run again; if it will not return (broken, wiped, or in another cluster), find the URN that ends with \`${part.ending}\` by \`pulumi stack --show-urns\`; then run \`pulumi state delete 'URN'\`, and run again`,
  });
  return waitOrFail(
    clock,
    { ...lastAnswer, look: async () => ({ done: await ask() }) },
    (within) => failed(`did not answer ${within}`),
    (message) => failed(`cannot be asked: ${message}`),
  );
}
