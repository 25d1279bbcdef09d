import { architectures } from "./data/chips.json";
import listed from "./data/pci-cards.json";

/** Architecture of a chip, by its first two letters; undefined if no driver of Talos supports it. */
export const architectureOfChip = (chip: string): string | undefined =>
  (architectures as Record<string, string>)[chip.slice(0, 2)];

const isOlder = (chip: string): boolean => architectureOfChip(chip) === undefined;

const chips: readonly [chip: string, names: string[]][] = Object.entries(listed.chips).map(
  ([chip, devices]) => [chip, [...new Set(Object.values<string[]>(devices).flat())].sort()],
);

/**
 * Chips in the list of PCI IDs, each with the names of its cards as `nvidia-smi` prints them, without the vendor. Chips
 * and names are sorted.
 */
export const listedChips = chips.filter(([chip]) => !isOlder(chip));

/** Names of Fermi and Kepler cards, which no driver of Talos supports. A newer card may have the same name. */
export const olderNames: readonly string[] = chips
  .filter(([chip]) => isOlder(chip))
  .flatMap(([, names]) => names);

const olderIds = new Set(
  Object.entries(listed.chips).flatMap(([chip, devices]) =>
    isOlder(chip) ? Object.keys(devices) : [],
  ),
);

/** Whether a device ID belongs to a card of Fermi or Kepler. */
export const isOlderDevice = (id: string): boolean => olderIds.has(id);

const namesById = new Map(
  Object.values(listed.chips).flatMap((devices) => Object.entries<string[]>(devices)),
);

/**
 * Names of the cards with a device ID: several if the cards share the ID, none if the list lacks it.
 *
 * @param id the four digits that follow NVIDIA's `10de:`, in lower case.
 * @example namesOfDevice("2c05") // ["GeForce RTX 5070 Ti"]
 */
export const namesOfDevice = (id: string): readonly string[] => namesById.get(id) ?? [];

/** Device ID of the first card in the list with a name. */
export function deviceOfName(name: string): { id: string; chip: string } | undefined {
  for (const [chip, devices] of Object.entries(listed.chips))
    for (const [id, names] of Object.entries<string[]>(devices))
      if (names.includes(name)) return { id, chip };
  return undefined;
}
