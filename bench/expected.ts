import type { Result } from "./compare";

/** Ratios that a comparison came to when it was committed: medians. */
export interface ExpectedRatios {
  cpu: number;
  memory?: number;
}

/** How many times an expected ratio still passes. A ratio hardly depends on the computer, so a slow one passes, too. */
const allowance = 2;

/** A line for each ratio that has doubled, or that has no expected value. */
export function doubledRatios(
  results: readonly Result[],
  expected: Readonly<Record<string, ExpectedRatios>>,
): string[] {
  return results.flatMap(({ id, cpu, memory }) => [
    ...judge(id, "cpu", cpu.ratio.median, expected[id]?.cpu),
    ...(memory ? judge(id, "memory", memory.ratio.median, expected[id]?.memory) : []),
  ]);
}

function judge(
  id: string,
  figure: "cpu" | "memory",
  ratio: number,
  expected: number | undefined,
): string[] {
  const field = `${id}.${figure}`;
  const seen = ratio.toFixed(2);
  if (expected === undefined)
    return [
      `${field}: no ratio is expected; a doubling would not be noticed; add ${seen} to bench/expected.json`,
    ];
  if (ratio < allowance * expected) return [];
  return [
    `${field}: the ratio is ${seen}, and ${expected} was expected; it has at least doubled; ` +
      "find what became slow, or set the new ratio in bench/expected.json and say why",
  ];
}
