import { hex, isNvidiaCard, type PciDevice } from "../../components/clients/talos/pci-device";
import type { ReportedCard } from "../../components/clients/kubernetes/reported-cards";
import { type GpuSpec } from "../../components/recipe/index";
import { findCard, meantSize, sizesInWords } from "../../components/recipe/facts/card";
import { defined } from "../../components/recipe/mapping";
import { namesOfDevice } from "../../components/recipe/facts/pci-cards";
import { deviceNames } from "../../generate/facts/pci-cards";
import { unnamed } from "../stack-text";

/**
 * NVIDIA's cards among a machine's PCI devices, with the names that a stack uses, and a note for each unknown fact.
 *
 * @param reportedCards memory of the cards from NVIDIA's programs on the node, since PCI devices do not report it.
 */
export function cardsOf(
  devices: readonly PciDevice[],
  reportedCards: readonly ReportedCard[] = [],
): { gpus: GpuSpec[]; notes: string[] } {
  const cards = devices.filter(isNvidiaCard);
  const notes: string[] = [];
  const counts = new Map<string, number>();
  for (const device of cards) {
    const id = `10de:${hex(device.product_id) ?? "?"}`;
    // First by the PCI ID: the device's name comes from the list in the machine's Talos release, which may lack it.
    const listed = namesOfDevice(hex(device.product_id) ?? "");
    const namesFromProduct = device.product === undefined ? [] : deviceNames(device.product);
    const names = (listed.length > 0 ? listed : namesFromProduct).filter((name) => findCard(name));
    const [model = unnamed, ...otherModels] = names;
    const card = `card ${id}${device.product ? ` (${device.product})` : ""}`;
    if (names.length === 0)
      notes.push(
        `${card}: the package does not know this card; set model to the name that \`nvidia-smi -L\` or the card's box shows`,
      );
    else if (otherModels.length > 0)
      notes.push(
        `${card}: it may also be ${otherModels.join(" or ")}, which has the same PCI ID; check which card it is`,
      );
    const modelName = findCard(model)?.model ?? model;
    counts.set(modelName, (counts.get(modelName) ?? 0) + 1);
  }
  const gpus = [...counts].map(([model, count]): GpuSpec => {
    const { memory, note } = memoryOf(model, reportedCards);
    if (note !== undefined) notes.push(note);
    return { model, ...defined({ memory }), ...(count > 1 ? { count } : {}) };
  });
  return { gpus, notes: [...new Set(notes)] };
}

/** The memory that a stack must set for a card whose name exists with several sizes. */
function memoryOf(
  model: string,
  reportedCards: readonly ReportedCard[],
): { memory?: string; note?: string } {
  const card = findCard(model);
  if (card === undefined) return {};
  const labelsOfCard = reportedCards.filter(
    ({ product }) => findCard(product)?.model === card.model,
  );
  const sizes = new Set(labelsOfCard.flatMap(({ memoryMiB }) => meantSize(card, memoryMiB) ?? []));
  const [size, ...otherSizes] = sizes;
  if (size !== undefined && otherSizes.length === 0)
    return size === card.memoryMiB ? {} : { memory: `${size}Mi` };
  if (card.memoriesMiB === undefined) return {};
  return {
    note: `the ${model} exists with ${sizesInWords(card.memoriesMiB)}: set memory to the size of this card, which nvidia-smi shows`,
  };
}
