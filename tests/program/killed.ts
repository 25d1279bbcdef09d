import { Killed } from "./fakes";
import type { setup } from "./setup";

/**
 * Runs an upgrade that is killed at one of its lines or changing calls, and then runs it again, as a user would.
 *
 * @param at number of the line or call at which the first run is killed; undefined: no run is killed.
 * @returns the answer of the run that ended, and the number of lines and calls so far.
 */
export async function runAfterKill(
  { bench, machine, cluster, run }: ReturnType<typeof setup>,
  at: number | undefined,
): Promise<{ answer: Awaited<ReturnType<typeof run>>; points: number }> {
  let points = 0;
  const pass = (): void => {
    if (points++ === at) throw new Killed();
  };
  bench.report = pass;
  machine.afterCall = cluster.afterCall = pass;
  if (at !== undefined) await expect(run()).rejects.toThrow(Killed);
  return { answer: await run(), points };
}
