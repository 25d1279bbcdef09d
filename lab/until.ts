import { setTimeout as pause } from "node:timers/promises";

/** Result of a wait for something that cannot be watched. */
interface Looked<Seen> {
  seen: Seen;
  /** Whether that holds; else the limit is over. */
  holds: boolean;
}

/** How long, and how often. */
export interface Patience {
  /** Limit, in seconds. */
  seconds: number;
  /** Milliseconds between two looks. Default 250. */
  every?: number;
  /** Ends the wait, which then throws the signal's reason. */
  signal?: AbortSignal;
}

/**
 * Looks again and again until what is seen holds, or the limit is over: for what no event reports, like the end of
 * another program's process.
 */
export async function until<Seen>(
  { seconds, every = 250, signal }: Patience,
  look: () => Seen | Promise<Seen>,
  holds: (seen: Seen) => boolean,
): Promise<Looked<Seen>> {
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

/** As `until`, for who cannot go on without: throws with what was waited for, and what was seen last. */
export async function untilSeen<Seen>(
  what: string,
  patience: Patience,
  look: () => Seen | Promise<Seen>,
  holds: (seen: Seen) => boolean,
): Promise<Seen> {
  const { seen, holds: well } = await until(patience, look, holds);
  if (well) return seen;
  const last = seen instanceof Error ? seen.message : JSON.stringify(seen);
  throw new Error(`not within ${patience.seconds} s: ${what}; last: ${last}`);
}
