import { cardOf, migOf, powerRangeOf, type GpuSpec } from "../../components/recipe";
import type { LabGpu } from "../machines";
import { pciDeviceOf } from "./pci-device";

/** What the emulation needs to know of a card; the facts are the recipe's. */
export function labGpu(gpu: GpuSpec): LabGpu {
  const card = cardOf(gpu);
  if (card === undefined)
    throw new Error(`gpus: the tables have no ${gpu.model}, so it cannot be emulated; add it to data/cards.json`);
  const power = powerRangeOf(card);
  const mig = migOf(card);
  return {
    model: card.model,
    pciDevice: card.pciDevice,
    ...pciDeviceOf(card),
    count: gpu.count ?? 1,
    memoryMiB: card.memoryMiB ?? 8192, // the tables do not say it of every card
    computeCapability: card.computeCapability,
    minPowerW: power?.min ?? 0,
    maxPowerW: power?.max ?? 0,
    defaultPowerW: card.power?.default ?? 0,
    ...(mig ? { mig } : {}),
  };
}
