/** A signal that aborts when another signal aborts, or when its time is over. */
export interface Limit {
  readonly signal: AbortSignal;
  /** Whether the time is over. */
  readonly isOver: boolean;
  /** Stops the timer and no longer listens to the other signals. Call it when the work is done. */
  release(): void;
}

/**
 * A limit for work that others may also cancel.
 *
 * Not `AbortSignal.any([…, AbortSignal.timeout(…)])`: on Node 20 the combined signal does not keep the timeout alive:
 * it is collected as garbage and never fires (nodejs/node#54614; seen on 20.20).
 *
 * @param milliseconds longest time; infinite for none
 */
export function limit(
  milliseconds: number,
  ...signals: readonly (AbortSignal | undefined)[]
): Limit {
  const controller = new AbortController();
  let isOver = false;
  const cancel = (event: Event): void => controller.abort((event.target as AbortSignal).reason);
  for (const signal of signals) {
    if (signal?.aborted) controller.abort(signal.reason);
    signal?.addEventListener("abort", cancel, { once: true });
  }
  const abortByTimeout = (): void => {
    isOver = true;
    controller.abort(new DOMException(`not done within ${milliseconds / 1000} s`, "TimeoutError"));
  };
  const timer = Number.isFinite(milliseconds)
    ? setTimeout(abortByTimeout, milliseconds)
    : undefined;
  return {
    signal: controller.signal,
    get isOver() {
      return isOver;
    },
    release: () => {
      clearTimeout(timer);
      for (const signal of signals) signal?.removeEventListener("abort", cancel);
    },
  };
}
