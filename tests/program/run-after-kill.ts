import { Killed } from "./fakes";
import type { setupUpgrade } from "./setup";

/**
 * Runs an upgrade that is killed at one of its lines or changing calls, and then runs it again, as a user would.
 *
 * @param killPoint number of the line or call at which the first run is killed; undefined: no run is killed.
 * @returns the result of the run that ended, and the number of lines and calls so far.
 */
export async function runAfterKill(
  { context, machine, cluster, run }: ReturnType<typeof setupUpgrade>,
  killPoint: number | undefined,
): Promise<{ result: Awaited<ReturnType<typeof run>>; pointCount: number }> {
  let pointCount = 0;
  const reachPoint = (): void => {
    if (pointCount++ === killPoint) throw new Killed();
  };
  context.report = reachPoint;
  machine.afterCall = cluster.afterCall = reachPoint;
  if (killPoint !== undefined) await expect(run()).rejects.toThrow(Killed);
  return { result: await run(), pointCount };
}
