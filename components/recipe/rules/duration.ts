/** Milliseconds per unit of a duration, in the notation of Go and of Pulumi's custom timeouts. */
const durationUnits: Readonly<Record<"ms" | "s" | "m" | "h", number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/** Milliseconds of a duration such as `10m`, `90s`, `1h30m` or `1.5m`; undefined for any other text. */
export function durationValue(text: string): number | undefined {
  if (text.length > 64 || !/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/.test(text)) return undefined;
  return [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/gy)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * durationUnits[unit as "s"],
    0,
  );
}

/** Writes milliseconds in the notation that `durationValue` reads, e.g. `1h30m`; zero is `0s`. */
export function formatDuration(milliseconds: number): string {
  let rest = Math.round(milliseconds);
  const parts: string[] = [];
  for (const unit of ["h", "m", "s", "ms"] as const) {
    const amount = Math.floor(rest / durationUnits[unit]);
    rest -= amount * durationUnits[unit];
    if (amount > 0) parts.push(`${amount}${unit}`);
  }
  return parts.join("") || "0s";
}

/** Shortest wait in milliseconds. Time limits in Kubernetes are whole seconds. */
export const shortestWait = 1_000;

/**
 * Longest wait in milliseconds, a week: Node's timers end at 24.8 days, and a waiting update keeps its stack locked.
 */
export const longestWait = 7 * 24 * durationUnits.h;

/**
 * Reads a duration such as `10m`, `90s`, `1h30m` or `1.5m`.
 *
 * @returns milliseconds.
 * @throws when the text is not a duration; the message names `field`.
 */
export function parseDuration(text: string, field = "duration"): number {
  const milliseconds = durationValue(text);
  if (milliseconds === undefined) {
    throw new Error(
      `${field}: ${JSON.stringify(text)} is not a duration; the wait would have no limit; write e.g. 90s, 10m or 1h30m`,
    );
  }
  return milliseconds;
}
