import { setTimeout as pause } from "node:timers/promises";

/** Milliseconds between two looks at what cannot be watched. */
const every = 250;

/** Seconds until something holds; undefined when it does not within the limit. */
export async function until(
  signal: AbortSignal,
  limit: number,
  holds: () => Promise<boolean>,
): Promise<number | undefined> {
  const begin = performance.now();
  const took = (): number => Math.round((performance.now() - begin) / 100) / 10;
  for (;;) {
    if (await holds()) return took();
    if (took() > limit) return undefined;
    await pause(every, undefined, { signal });
  }
}

/** Whether asking for something fails: what is deleted is not found. */
export const isGone = (asked: Promise<unknown>): Promise<boolean> =>
  asked.then(
    () => false,
    () => true,
  );
