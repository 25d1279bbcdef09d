import { cardOf, findCard } from "../../recipe/facts/card";
import { namesOfDevice } from "../../recipe/facts/pci-cards";
import type { GpuSpec } from "../../recipe/spec/index";
import type { ObservedMachine, ObservedNode } from "../observations";

/**
 * Difference in words: cards of a machine that the stack does not name. Kernel modules, driver and checks follow from
 * the named cards. The machine's cards are read from the labels of NVIDIA's programs, else from PCI IDs, which several
 * cards may share. Undefined without such cards, or if the stack only describes a card, because then there is no name
 * to compare.
 */
export function otherCards(
  gpus: readonly GpuSpec[],
  node: Pick<ObservedNode, "cards"> | undefined,
  machine: Pick<ObservedMachine, "cardIds"> | undefined,
): string | undefined {
  const cards = gpus.map((gpu) => cardOf(gpu));
  if (cards.length === 0 || cards.some((card) => card === undefined || card.described))
    return undefined;
  const planned = [...new Set(cards.flatMap((card) => card?.model ?? []))];
  const labelledModels = (node?.cards ?? []).map(({ product }) => modelsOf([product]));
  const cardModels =
    labelledModels.length > 0
      ? labelledModels
      : (machine?.cardIds ?? []).map((id) => modelsOf([id, ...namesOfDevice(id.slice(5))]));
  const unplannedCards = cardModels.filter(
    (models) => models.length > 0 && !models.some((model) => planned.includes(model)),
  );
  if (unplannedCards.length === 0) return undefined;
  const modelNames = [...new Set(unplannedCards.map(([first = ""]) => first))].join(", ");
  return `has a card ${modelNames}, the plan says ${planned.join(", ")}: the machine's gpus must list its real card`;
}

/** Models that these names may mean. */
const modelsOf = (names: readonly string[]): string[] => [
  ...new Set(names.flatMap((name) => findCard(name)?.model ?? [])),
];
