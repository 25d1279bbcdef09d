import { findCard, type Card } from "../../components/recipe";
import { deviceOfName, listedChips } from "../../components/recipe/facts/pci-cards";
import type { LabGpu } from "../machines";

/** Number and name that the list of PCI IDs has for a card, e.g. `2c05`, `GB203 [GeForce RTX 5070 Ti]`; empty where it has none. */
export function pciDeviceOf(card: Card): Pick<LabGpu, "pciId" | "pciName"> {
  const name = listedChips.flatMap(([, names]) => names).find((each) => findCard(each)?.model === card.model);
  const device = name === undefined ? undefined : deviceOfName(name);
  return device === undefined ? {} : { pciId: device.id, pciName: `${device.chip} [${name}]` };
}
