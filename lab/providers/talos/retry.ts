/** What time is and how it passes; tests bring their own. */
export interface Clock {
  /** Milliseconds since some moment. */
  now(): number;
  /** Waits so many milliseconds; rejects when aborted. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/** How long something is tried, and what it is. */
export interface RetryOptions {
  /** What the error says that was tried, e.g. `applying the configuration to 10.0.0.1`. */
  what: string;
  /** Milliseconds. */
  timeout: number;
  /** True for errors that another try cannot change. */
  final(error: unknown): boolean;
  clock: Clock;
  signal?: AbortSignal | undefined;
}

/**
 * Tries until it works: after half a second, then twice as long each time, at most ten seconds. Source: the provider's
 * retry.RetryContext (terraform-plugin-sdk, helper/retry).
 *
 * @param attempt gets the milliseconds that are left
 * @throws the last error, with what was tried and how long
 */
export async function retry<T>(options: RetryOptions, attempt: (left: number) => Promise<T>): Promise<T> {
  const { what, timeout, final, clock, signal } = options;
  const end = clock.now() + timeout;
  for (let pause = 500; ; pause = Math.min(pause * 2, 10_000)) {
    try {
      return await attempt(Math.max(end - clock.now(), 1));
    } catch (error) {
      if (signal?.aborted || final(error)) throw error;
      if (clock.now() + pause >= end) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new Error(`${what}: gave up after ${Math.round(timeout / 1000)} s: ${reason}`, { cause: error });
      }
      await clock.sleep(pause, signal);
    }
  }
}
