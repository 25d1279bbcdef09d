import type { Result } from "./compare";

/** Median ratios of a comparison when they were committed. */
export interface ExpectedRatios {
  cpu: number;
  memory?: number;
}

/** Factor up to which a ratio may exceed its expected value. A ratio hardly depends on the computer's speed. */
const allowance = 2;

/** A line for each ratio that has doubled, or that has no expected value. */
export function doubledRatios(
  results: readonly Result[],
  expected: Readonly<Record<string, ExpectedRatios>>,
): string[] {
  return results.flatMap(({ id, cpu, memory }) => [
    ...findingsOf(id, "cpu", cpu.ratio.median, expected[id]?.cpu),
    ...(memory ? findingsOf(id, "memory", memory.ratio.median, expected[id]?.memory) : []),
  ]);
}

function findingsOf(
  id: string,
  figure: "cpu" | "memory",
  ratio: number,
  expected: number | undefined,
): string[] {
  const field = `${id}.${figure}`;
  const ratioText = ratio.toFixed(2);
  if (expected === undefined)
    return [
      `${field}: no ratio is expected; a doubling would not be noticed; add ${ratioText} to bench/expected.json`,
    ];
  if (ratio < allowance * expected) return [];
  return [
    `${field}: the ratio is ${ratioText}, and ${expected} was expected; it has at least doubled; ` +
      "find what became slow, or set the new ratio in bench/expected.json and say why",
  ];
}
