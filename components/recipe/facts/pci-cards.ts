import listed from "./data/pci-cards.json";

/** Chips of the list of PCI IDs with the names of their cards, as `nvidia-smi` prints them but for the vendor; both sorted. */
export const listedChips: readonly [chip: string, names: string[]][] = Object.entries(listed.chips).map(
  ([chip, devices]) => [chip, [...new Set(Object.values(devices).flat())].sort()],
);

const namesById = new Map(Object.values(listed.chips).flatMap((devices) => Object.entries<string[]>(devices)));

/**
 * Names of a card by its device ID; several where the list does not tell cards apart, none where it does not have the device.
 *
 * @param id the four digits that follow NVIDIA's `10de:`, in lower case.
 * @example namesOfDevice("2c05") // ["GeForce RTX 5070 Ti"]
 */
export const namesOfDevice = (id: string): readonly string[] => namesById.get(id) ?? [];

/** Device ID of the first card on the list with that name. */
export function deviceOfName(name: string): { id: string; chip: string } | undefined {
  for (const [chip, devices] of Object.entries(listed.chips))
    for (const [id, names] of Object.entries<string[]>(devices)) if (names.includes(name)) return { id, chip };
  return undefined;
}
