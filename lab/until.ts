import { setTimeout as pause } from "node:timers/promises";

/** Result of a wait by polling. */
interface PollResult<Seen> {
  seen: Seen;
  /** Whether the condition holds; false if the limit is over. */
  holds: boolean;
}

/** Limit and interval of a wait. */
export interface Patience {
  /** Limit, in seconds. */
  seconds: number;
  /** Milliseconds between two checks. Default: 250. */
  every?: number;
  /** Ends the wait, which then throws the signal's reason. */
  signal?: AbortSignal;
}

/**
 * Polls until a condition holds or the limit is over. For conditions that no event reports, such as the end of another
 * program's process.
 */
export async function until<Seen>(
  { seconds, every = 250, signal }: Patience,
  look: () => Seen | Promise<Seen>,
  holds: (seen: Seen) => boolean,
): Promise<PollResult<Seen>> {
  const begin = performance.now();
  for (;;) {
    signal?.throwIfAborted();
    const seen = await look();
    if (holds(seen)) return { seen, holds: true };
    if ((performance.now() - begin) / 1000 > seconds) return { seen, holds: false };
    await pause(every, undefined, signal === undefined ? {} : { signal }).catch(() =>
      signal?.throwIfAborted(),
    );
  }
}

/** Like `until`, but throws an error if the limit is over. The error has the condition in words, and the last value. */
export async function untilSeen<Seen>(
  condition: string,
  patience: Patience,
  look: () => Seen | Promise<Seen>,
  holds: (seen: Seen) => boolean,
): Promise<Seen> {
  const { seen, holds: isDone } = await until(patience, look, holds);
  if (isDone) return seen;
  const last = seen instanceof Error ? seen.message : JSON.stringify(seen);
  throw new Error(`not within ${patience.seconds} s: ${condition}; last: ${last}`);
}
