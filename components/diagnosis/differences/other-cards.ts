import { cardOf, findCard } from "../../recipe/facts/card";
import { namesOfDevice } from "../../recipe/facts/pci-cards";
import type { GpuSpec } from "../../recipe/spec/index";
import type { ObservedMachine, ObservedNode } from "../observations";

/**
 * Message about cards in a machine that are missing from the machine's `gpus` in the stack. This matters because kernel
 * modules, driver and checks follow from `gpus`. The machine's cards come from the labels of NVIDIA's programs, else
 * from PCI IDs, which several models may share. Undefined if there are no such cards. Also undefined if the stack
 * describes a card by its architecture, because such a card has no known name to compare.
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
  return `has a card ${modelNames}, the plan says ${planned.join(", ")}: the machine's \`gpus\` must list its real card`;
}

/** Models in the package's tables that these names may stand for. */
const modelsOf = (names: readonly string[]): string[] => [
  ...new Set(names.flatMap((name) => findCard(name)?.model ?? [])),
];
