/** A signal that aborts with others or when its time is over. */
export interface Limit {
  readonly signal: AbortSignal;
  /** Whether it was the time. */
  readonly over: boolean;
  /** Stops the clock and lets go of the other signals; call it when the work is done. */
  release(): void;
}

/**
 * A limit for work that others may also cancel.
 *
 * Not `AbortSignal.any([…, AbortSignal.timeout(…)])`: on Node 20 the combined signal does not hold on to the timeout, which
 * is then collected as garbage and never fires (nodejs/node#54614; seen on 20.20).
 *
 * @param milliseconds longest time; infinite for none
 */
export function limit(
  milliseconds: number,
  ...signals: readonly (AbortSignal | undefined)[]
): Limit {
  const controller = new AbortController();
  let over = false;
  const cancel = (event: Event): void => controller.abort((event.target as AbortSignal).reason);
  for (const signal of signals) {
    if (signal?.aborted) controller.abort(signal.reason);
    signal?.addEventListener("abort", cancel, { once: true });
  }
  const end = (): void => {
    over = true;
    controller.abort(new DOMException(`not done within ${milliseconds / 1000} s`, "TimeoutError"));
  };
  const timer = Number.isFinite(milliseconds) ? setTimeout(end, milliseconds) : undefined;
  return {
    signal: controller.signal,
    get over() {
      return over;
    },
    release: () => {
      clearTimeout(timer);
      for (const signal of signals) signal?.removeEventListener("abort", cancel);
    },
  };
}
