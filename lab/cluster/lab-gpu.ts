import {
  type Card,
  cardOf,
  findCard,
  type GpuSpec,
  migOf,
  powerRangeOf,
} from "../../components/recipe";
import { deviceOfName, listedChips } from "../../components/recipe/facts/pci-cards";
import type { LabGpu } from "../machines";

/** Facts about a card that the emulation needs; they come from the recipe. */
export function labGpu(gpu: GpuSpec): LabGpu {
  const card = cardOf(gpu);
  if (card === undefined)
    throw new Error(
      `gpus: data/cards.json has no ${gpu.model}, so the lab cannot emulate it; add this card`,
    );
  const power = powerRangeOf(card);
  const mig = migOf(card);
  return {
    model: card.model,
    pciDevice: card.pciDevice,
    ...pciDeviceOf(card),
    count: gpu.count ?? 1,
    memoryMiB: card.memoryMiB ?? card.memoriesMiB?.[0] ?? 8192, // the tables lack it for some cards
    computeCapability: card.computeCapability,
    minPowerW: power?.min ?? 0,
    maxPowerW: power?.max ?? 0,
    defaultPowerW: card.power?.default ?? 0,
    ...(mig ? { mig } : {}),
  };
}

/**
 * A card's ID and name in the list of PCI IDs, e.g. `2c05`, `GB203 [GeForce RTX 5070 Ti]`; empty if the list lacks it.
 */
function pciDeviceOf(card: Card): Pick<LabGpu, "pciId" | "pciName"> {
  const name = listedChips
    .flatMap(([, names]) => names)
    .find((chipName) => findCard(chipName)?.model === card.model);
  const device = name === undefined ? undefined : deviceOfName(name);
  return device === undefined ? {} : { pciId: device.id, pciName: `${device.chip} [${name}]` };
}

/**
 * Text about its cards on a virtual machine's board, e.g. `2|NVIDIA GeForce RTX 3090|24576|8.6` (lab/machines,
 * realnode/driver/native/nvml.c). Empty for a machine without cards.
 *
 * @throws Error if the cards are of several models, for which the text has no form.
 */
export function assetTag(gpus: readonly GpuSpec[]): string {
  const cards = gpus.map((gpu) => {
    const { model, memoryMiB, computeCapability, count } = labGpu(gpu);
    const name = `NVIDIA ${cardOf(gpu)!.family === "geforce" ? "GeForce " : ""}${model}`;
    return { kind: [name, memoryMiB, computeCapability].join("|"), count };
  });
  const kinds = [...new Set(cards.map(({ kind }) => kind))];
  if (kinds.length > 1)
    throw new Error(
      `gpus: ${kinds.length} kinds of cards; the cards of a virtual machine are of one kind: list one kind, or use another kind of machines`,
    );
  const count = cards.reduce((sum, card) => sum + card.count, 0);
  return kinds.map((kind) => `${count}|${kind}`)[0] ?? "";
}
