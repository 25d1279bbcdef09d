import { until as lookUntil } from "../until";

/**
 * Seconds until something holds; undefined when it does not within the limit.
 *
 * @param every milliseconds between two looks. Default: as `until` of all the lab.
 */
export async function until(
  signal: AbortSignal,
  limit: number,
  holds: () => Promise<boolean>,
  every?: number,
): Promise<number | undefined> {
  const { seen, seconds } = await lookUntil(
    { seconds: limit, signal, ...(every === undefined ? {} : { every }) },
    holds,
    Boolean,
  );
  return seen ? Math.round(seconds * 10) / 10 : undefined;
}

/** Whether asking for something fails: what is deleted is not found. */
export const isGone = (asked: Promise<unknown>): Promise<boolean> =>
  asked.then(
    () => false,
    () => true,
  );
