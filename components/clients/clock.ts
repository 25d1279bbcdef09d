import { AsyncLocalStorage } from "node:async_hooks";
import { formatDuration } from "../recipe/rules/duration";
import { CallError, Failure, isTransient, lastLine, type FieldFinding } from "./failure";

/** A source of time, which tests replace. */
export interface Clock {
  /** Milliseconds since some fixed moment; never goes back. */
  now(): number;
  /** Resolves after the given milliseconds. */
  sleep(milliseconds: number): Promise<void>;
}

/** The real time. */
export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
};

/** Resolves with the answer. Rejects with `timeoutError` if the answer takes longer than `limit` milliseconds. */
export async function inTime<T>(
  answer: Promise<T>,
  limit: number,
  timeoutError: () => Error,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(timeoutError()), limit);
  });
  return Promise.race([answer, timeout]).finally(() => clearTimeout(timer));
}

/** Greatest number of calls of `run` that `someAtATime` makes at the same time. */
export const AT_A_TIME = 8;

/** Calls a function for each item, for a few items at the same time. */
export async function someAtATime<T>(
  items: readonly T[],
  run: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const runNext = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) await run(next);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, runNext));
}

/** True during a check of `waitFor`, which repeats the whole check if a call fails. */
const inWait = new AsyncLocalStorage<true>();

/** Milliseconds before each retry of a call outside a wait. */
const PAUSES = [1_000, 2_000, 4_000, 8_000];
const NO_MORE_TRIES_AFTER = 45_000;
/**
 * Longest pause in milliseconds that a server can request with Retry-After. A longer pause is cut to this length, so
 * that retries end in time.
 */
const LONGEST_PAUSE = 30_000;

/** The pause before a retry: the given one, or a longer one that the server requests. */
export const pauseBefore = (pause: number, retryAfter: number | undefined): number =>
  Math.max(pause, Math.min(retryAfter ?? 0, LONGEST_PAUSE));

/** Pause in milliseconds that the server of a failed call requests. */
const retryAfterOf = (error: unknown): number | undefined =>
  error instanceof CallError ? error.retryAfter : undefined;

/**
 * Milliseconds of a header Retry-After, which is a number of seconds or a date (RFC 9110, 10.2.3). Undefined for other
 * texts.
 */
export function readRetryAfter(header: string, now = Date.now()): number | undefined {
  if (/^\d+$/.test(header)) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/**
 * Makes a call, and repeats it up to four times if it fails with a temporary error. Within a wait the call is not
 * repeated. Throws the error of the last attempt.
 */
export async function persistently<T>(clock: Clock, call: () => Promise<T>): Promise<T> {
  const begun = clock.now();
  for (const pause of PAUSES) {
    try {
      return await call();
    } catch (error) {
      if (inWait.getStore() || !isTransient(error) || clock.now() - begun > NO_MORE_TRIES_AFTER)
        throw error;
      await clock.sleep(pauseBefore(pause, retryAfterOf(error)));
    }
  }
  return call();
}

/**
 * Repeats a call like `persistently`, even within a wait. For some checks a failed call is the answer, e.g. that a
 * machine is down.
 */
export const insist = <T>(clock: Clock, call: () => Promise<T>): Promise<T> =>
  inWait.exit(() => persistently(clock, call));

/**
 * A client that repeats calls after a short fault: one dropped connection must not end an update after the reboots. The
 * client may repeat every method: if the first call took effect and its answer was lost, the second call succeeds as
 * well. Within a wait the client repeats no call, because the wait itself does.
 */
export function persistent<Client extends object>(clock: Clock, client: Client): Client {
  return new Proxy(client, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      const call = value as (...args: unknown[]) => unknown;
      return (...args: unknown[]): unknown => {
        const firstAnswer = call.apply(target, args);
        if (!(firstAnswer instanceof Promise)) return firstAnswer;
        let unusedAnswer: Promise<unknown> | undefined = firstAnswer;
        return persistently(clock, () => {
          const answer = unusedAnswer ?? (call.apply(target, args) as Promise<unknown>);
          unusedAnswer = undefined;
          return answer;
        });
      };
    },
  });
}

/** A condition that is watched until it holds. */
export interface Wait<T> {
  /** Name of what is awaited, e.g. `a new boot id`; for the message at the limit. */
  subject: string;
  /** Milliseconds after which the wait fails. */
  limit: number;
  /** Milliseconds between two checks; a server may request a longer pause, up to a limit. */
  poll: number;
  /** Checks once. Returns the value if the condition holds, else `{ not: <what is missing> }`. */
  look: () => Promise<{ done: T } | { not: string }>;
  /** Called with the missing condition if it differs from that of the previous check. Default: nothing is called. */
  onMissing?: (missing: string) => void;
}

/** A wait that reached its limit. */
export class LimitReached extends Error {
  constructor(
    public readonly subject: string,
    public readonly limit: number,
    /** The condition that was missing at the last check. */
    public readonly missing: string,
  ) {
    super(`waited ${formatDuration(limit)} for ${subject} (last: ${missing})`);
  }
}

/**
 * Checks until the condition holds. If a check fails because the machine does not answer, the condition counts as
 * missing; any other error ends the wait.
 *
 * @throws LimitReached at the limit.
 */
export async function waitFor<T>(clock: Clock, wait: Wait<T>): Promise<T> {
  const end = clock.now() + wait.limit;
  let missing: string;
  let lastMissing: string | undefined;
  do {
    let { poll } = wait;
    try {
      const result = await inWait.run(true, wait.look);
      if ("done" in result) return result.done;
      missing = result.not;
    } catch (error) {
      if (!isTransient(error)) throw error;
      missing = lastLine(error);
      poll = pauseBefore(poll, retryAfterOf(error));
    }
    if (missing !== lastMissing) wait.onMissing?.(missing);
    lastMissing = missing;
    await clock.sleep(Math.max(0, Math.min(poll, end - clock.now())));
  } while (clock.now() < end);
  throw new LimitReached(wait.subject, wait.limit, missing);
}

/**
 * Waits like `waitFor`, but throws a Failure with findings for the user if the wait reaches its limit.
 *
 * @param findingsOfLimit findings for a wait that reaches its limit. `limitText` is e.g. `within 5m (last: not ready)`, and
 * `lastMessage` is `not ready`.
 * @param findingOfRefusal finding for a refused call. Default: the call's own error is thrown.
 * @throws Failure at the limit.
 */
export async function waitOrFail<T>(
  clock: Clock,
  wait: Omit<Wait<T>, "subject">,
  findingsOfLimit: (limitText: string, lastMessage: string) => FieldFinding | FieldFinding[],
  findingOfRefusal?: (message: string) => FieldFinding,
): Promise<T> {
  try {
    return await waitFor(clock, { subject: "it", ...wait });
  } catch (error) {
    if (error instanceof LimitReached)
      throw new Failure(
        ...[
          findingsOfLimit(
            `within ${formatDuration(wait.limit)} (last: ${error.missing})`,
            error.missing,
          ),
        ].flat(),
      );
    throw findingOfRefusal && error instanceof CallError
      ? new Failure(findingOfRefusal(error.message))
      : error;
  }
}
