/** Minimum, median and maximum of some measurements. */
export interface Spread {
  minimum: number;
  median: number;
  maximum: number;
}

/** @param values at least one */
export function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) throw new Error("no value was measured, so it has no median");
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return {
    minimum: sorted[0]!,
    median: (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2,
    maximum: sorted.at(-1)!,
  };
}
