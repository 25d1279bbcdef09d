import { cardOf, findCard, meantSize } from "../../recipe/facts/card";
import type { GpuSpec } from "../../recipe/spec/index";
import type { ObservedNode } from "../observations";

/**
 * Differences between the cards' real memory and the memory in the plan. The checks compared the workloads' claims with
 * the memory in the plan.
 */
export function cardMemory(
  gpus: readonly GpuSpec[],
  { cards = [] }: Pick<ObservedNode, "cards">,
): string[] {
  const planned = gpus.flatMap((gpu) => cardOf(gpu) ?? []);
  const differing = cards.flatMap(({ product, memoryMiB }) => {
    const model = findCard(product)?.model;
    if (model === undefined) return [];
    const alike = planned
      .filter((card) => card.model === model)
      .flatMap((card) => card.memoryMiB ?? []);
    const isPlanned = alike.some((size) => meantSize({ memoryMiB: size }, memoryMiB) !== undefined);
    if (alike.length === 0 || isPlanned) return [];
    const sizes = [...new Set(alike.map((size) => `${size}Mi`))].join(" and ");
    return [
      `its ${model} has ${memoryMiB}Mi of memory, the plan says ${sizes} (gpus[].memory of the machine)`,
    ];
  });
  return [...new Set(differing)];
}
