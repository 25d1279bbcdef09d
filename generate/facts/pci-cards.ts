/** Cards of NVIDIA's by their chip, as the list of PCI IDs names them. */
export interface PciCards {
  /** Version of the list, e.g. `2026.10.24`. */
  version: string;
  /**
   * Names of a card by chip (`GA102`) and device ID (`2204`), as `nvidia-smi` prints them without the vendor. A device
   * ID has several names if the list gives it to several cards.
   */
  chips: Record<string, Record<string, string[]>>;
}

/**
 * Chips from Fermi on, without the suffix of their use (`GL`, `M`). No driver of Talos supports chips before Maxwell,
 * and a check recognizes them by name. Jetson's and Tegra's chips have other drivers, so they are left out.
 */
const chipName = /^((?:GF|GK|GM|GP|GV|TU|GA|AD|GH|GB)\d\d[0-9AB])/;
const otherDrivers = new Set(["GB10B", "GK20A"]);
/** GRID cards of Kepler are physical cards; later GRID names a virtual GPU. */
const gridCard = /^GRID K\d/;

/** Entries that are not cards on sale: other functions of a card, samples, numbers of unreleased cards. */
const noCard =
  /engineering|reserved|dev ?id|initial|\bsku\b|\bint\b|int52|\bcs1\b|fake|nvswitch|audio|graphics device|\bpg\d{3}(?!-\d{3}$)|jmjwoa|skinny|tegra|jetson|drive |^d17u|^ac ad|^ts4|gh100-|gh3$|^p1?06m$|30x0/i;

/**
 * Reads a list of PCI IDs (pci.ids of pci-ids.ucw.cz). The list says "Mobile" for the driver's "Laptop GPU" (from
 * Ampere on), and "Max-Q" for "with Max-Q Design" (before Ampere). It joins several cards of one number in one name.
 *
 * @throws Error if the text is not such a list.
 */
export function pciCards(text: string): PciCards {
  const version = /^#\s+Version:\s*(\S+)/m.exec(text)?.[1];
  const chips = new Map<string, Map<string, string[]>>();
  let isNvidia = false;
  for (const line of text.split("\n")) {
    if (/^[0-9a-f]{4} {2}/.test(line)) isNvidia = line.startsWith("10de ");
    const [, id = "", device = ""] = (isNvidia && /^\t([0-9a-f]{4}) {2}(.+)$/.exec(line)) || [];
    const chip = chipName.exec(device)?.[1];
    const names = [...new Set(deviceNames(device))];
    if (chip === undefined || names.length === 0) continue;
    chips.set(chip, (chips.get(chip) ?? new Map<string, string[]>()).set(id, names));
  }
  if (version === undefined || chips.size === 0) {
    throw new Error(
      "pci.ids: is not a list of PCI IDs with NVIDIA's cards; download it from https://pci-ids.ucw.cz",
    );
  }
  const byKey = <T>(entries: Iterable<[string, T]>): [string, T][] =>
    [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    version,
    chips: Object.fromEntries(
      byKey(chips).map(([chip, ids]) => [chip, Object.fromEntries(byKey(ids))]),
    ),
  };
}

/**
 * Names that a driver prints for an entry of the list, e.g. `GB203 [GeForce RTX 5070 Ti]`; empty if the entry is not a
 * card.
 */
export function deviceNames(device: string): string[] {
  const chip = chipName.exec(device)?.[1];
  const name = /\[([^\]]+)\]\s*$/.exec(device)?.[1];
  if (!chip || !name || otherDrivers.has(chip)) return [];
  return printedNames(name, chip).filter((printed) => !noCard.test(printed));
}

/** Names that a driver prints for one name of the list. */
function printedNames(listed: string, chip: string): string[] {
  const plain = listed
    .replace(/^(NVIDIA|HGX) /, "")
    .replace(/\s*\([^)]*\)/g, "")
    .replace(/ (Rev\. \w+|Lite Hash Rate|Refresh|OEM)\b/g, "")
    .replace(/\bGeforce\b/, "GeForce")
    .trim();
  const mobile = /^(.*?) (?:Mobile|Max-Q)\b(?! Workstation)/.exec(plain)?.[1];
  if (mobile !== undefined) {
    const isAmpereOn = /^(GA|AD|GB)/.test(chip);
    return split(mobile).flatMap((name) =>
      isAmpereOn ? [`${name} Laptop GPU`] : [name, `${name} with Max-Q Design`],
    );
  }
  return split(plain);
}

/** Splits a name of several cards: `A2 / A16`, `GH200 120GB / 480GB`, `RTX 2000 / 2000E Ada Generation`. */
function split(name: string): string[] {
  const [first = "", ...otherNames] = name.split(/ ?\/ ?/);
  const words = first.split(" ");
  const family = /^(GeForce|Quadro|Tesla|GRID|NVS|RTX|T\d+E?|A\d+|CMP)\b/;
  const names = otherNames.map((otherName) =>
    family.test(otherName) ? otherName : [...words.slice(0, -1), otherName].join(" "),
  );
  // `RTX 2000 / 2000E Ada Generation`: the text after the second number also belongs to the first.
  const tail = otherNames
    .find((otherName) => otherName.startsWith(words.at(-1) ?? " ") && !family.test(otherName))
    ?.split(" ")
    .slice(1);
  return [[first, ...(tail ?? [])].join(" "), ...names].filter(
    (cardName) => gridCard.test(cardName) || !/^(GRID |T10-)/.test(cardName),
  );
}
