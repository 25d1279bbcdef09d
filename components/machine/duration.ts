import { durationUnits, durationValue } from "../recipe/rules/duration";

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
      `${field}: ${JSON.stringify(text)} is not a duration; the wait would have no limit; write it like 90s, 10m or 1h30m`,
    );
  }
  return milliseconds;
}

/** Writes milliseconds the way `parseDuration` reads them, e.g. `1h30m`; zero is `0s`. */
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
