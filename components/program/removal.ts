import { waitOrFail, type Clock } from "../clients/clock";
import type { FieldFinding } from "../clients/failure";

/**
 * Milliseconds to wait for an answer (`limit`), and between two attempts (`poll`). `limit` is shorter than Pulumi's
 * limit for the resource, which is five minutes.
 */
export const lastAnswer = { limit: 240_000, poll: 1_000 };

/** What a removal needs for its request to a server. */
interface LastRequest {
  clock: Clock;
  /** Node name of the machine that leaves the stack. */
  machine: string;
  /** Name of the server in messages, e.g. `the machine at 10.0.0.1`. */
  who: string;
  /** What the removal removes. Default: the stack's settings in the machine's configuration. */
  part?: typeof configurationPart;
}

/**
 * The stack's settings in a machine's configuration: the end of the URN of their resource, and the consequence if they
 * cannot be removed.
 */
const configurationPart = {
  ending: "-configuration",
  why: "the machine leaves the stack, but the stack's additions to its configuration could not be removed",
};

/**
 * Makes a call that a removal needs, and repeats the call for up to four minutes. The server may never answer again,
 * but Pulumi keeps a resource in its state until the removal succeeds. So the finding says how to delete the resource
 * from the state.
 *
 * @throws Failure if the server does not answer, or refuses.
 */
export function askLast<T>(request: LastRequest, ask: () => Promise<T>): Promise<T> {
  const { clock, machine, who, part = configurationPart } = request;
  const failed = (problem: string): FieldFinding => ({
    field: `machines.${machine}`,
    problem,
    why: part.why,
    remedy: `if ${who} is still in use, make sure that it answers and that the update has credentials for it, then run again. If it will not return (broken, wiped, or in another cluster), find the URN that ends with \`${part.ending}\` (\`pulumi stack --show-urns\`), run \`pulumi state delete 'URN'\`, and run again`,
  });
  return waitOrFail(
    clock,
    { ...lastAnswer, look: async () => ({ done: await ask() }) },
    (limitText) => failed(`${who} did not answer ${limitText}`),
    (message) => failed(`the request to ${who} failed: ${message}`),
  );
}
