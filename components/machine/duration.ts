/** Milliseconds per unit of a duration, as Go writes durations and Pulumi's custom timeouts take them. */
const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/**
 * Reads a duration such as `10m`, `90s`, `1h30m` or `1.5m`.
 *
 * @returns milliseconds.
 * @throws when the text is not a duration; the message names `field`.
 */
export function parseDuration(text: string, field = "duration"): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map((part) => part[0]).join("") !== text) {
    throw new Error(
      `${field}: ${JSON.stringify(text)} is not a duration; the wait would have no limit; write it like 90s, 10m or 1h30m`,
    );
  }
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * UNITS[unit ?? ""]!, 0);
}

/** Writes milliseconds the way `parseDuration` reads them, e.g. `1h30m`; zero is `0s`. */
export function formatDuration(milliseconds: number): string {
  let rest = Math.round(milliseconds);
  const parts: string[] = [];
  for (const unit of ["h", "m", "s", "ms"]) {
    const amount = Math.floor(rest / UNITS[unit]!);
    rest -= amount * UNITS[unit]!;
    if (amount > 0) parts.push(`${amount}${unit}`);
  }
  return parts.join("") || "0s";
}
