import { durationValue } from "../recipe/rules/duration";

export { formatDuration } from "../recipe/rules/duration";

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
