import { findCard, type Card } from "../../components/recipe";
import pciCards from "../../components/recipe/facts/data/pci-cards.json";

/** What the list of PCI IDs calls a card, e.g. `GB203 [GeForce RTX 5070 Ti]`; undefined for one that it does not have. */
export function pciNameOf(card: Card): string | undefined {
  for (const [chip, names] of Object.entries(pciCards.chips)) {
    const name = names.find((each) => findCard(each)?.model === card.model);
    if (name !== undefined) return `${chip} [${name}]`;
  }
  return undefined;
}
