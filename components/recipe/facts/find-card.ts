import chips from "./data/chips.json";
import { cardAliases, cards, type Card, type CardFamily } from "./data/cards";
import mig from "./data/mig.json";
import { meantSize, memorySizes, withMemory } from "./card-memory";
import {
  architectureOfChip,
  isOlderDevice,
  listedChips,
  namesOfDevice,
  olderNames,
} from "./pci-cards";
import { defined } from "../mapping";
import { remembering } from "../memory";
import { quantityValue } from "../rules/quantity";
import type { GpuSpec } from "../spec/index";

const geometryOfListed = mig.ofListedCards as Record<string, string>;

/**
 * Pattern of the names of cards that only the open kernel modules support (Grace Hopper). Both flavours of the modules
 * support other cards with the same chip. Source:
 * developer.nvidia.com/blog/nvidia-transitions-fully-towards-open-source-gpu-kernel-modules (Grace Hopper and Blackwell
 * must use the open modules).
 */
const openModulesOnly = /\bGH200\b/;

/**
 * A model's name in lower case, without vendor, family and punctuation. From a name as lspci prints it, e.g. `GA102
 * [GeForce RTX 3090]`, the function takes only the part in brackets.
 */
function normalize(model: string): string {
  return model
    .replace(/^[^[]*\[([^\]/]+)[^]*$/, "$1")
    .toLowerCase()
    .replace(/\((r|tm)\)|[®™]/g, " ")
    .replace(/\b(nvidia|geforce|tesla|quadro)\b/g, "")
    .replace(/[^a-z0-9]+/g, "");
}

const cardByName = new Map<string, Card>(cards.map((card) => [normalize(card.model), card]));
addAliases(); // `H100` is also a name in the list, which has fewer facts.
for (const [chip, names] of listedChips) {
  for (const name of names) {
    const card = cardOfChip(name, chip);
    if (card && !cardByName.has(normalize(name))) cardByName.set(normalize(name), card);
  }
}
addAliases();

function addAliases(): void {
  for (const [alias, model] of Object.entries(cardAliases)) {
    const card = cardByName.get(normalize(model));
    if (card && !cardByName.has(normalize(alias))) cardByName.set(normalize(alias), card);
  }
}

/**
 * Facts about a card in the list of PCI IDs: the chip gives the architecture, and the name may contain the memory. The
 * list has no power limits.
 */
function cardOfChip(name: string, chip: string): Card | undefined {
  const architecture = architectureOfChip(chip);
  const computeCapability = capabilityOf((start) => chip.startsWith(start));
  if (architecture === undefined || computeCapability === undefined) return undefined;
  const byName = traitsOfName(name);
  const minDriver = (chips.minDrivers as Record<string, string>)[chip];
  const mig = Object.hasOwn(geometryOfListed, name) ? geometryOfListed[name] : undefined;
  const ofChipWithMig = chips.chipsWithMig.includes(chip) && byName.family !== "geforce";
  const mayHaveMig = mig === undefined && (chips.cardsWithMig.includes(name) || ofChipWithMig);
  const model = name.replace(/^(GeForce|Quadro|Tesla) /, "");
  return {
    model,
    architecture,
    computeCapability,
    ...byName,
    ...defined({
      minDriver,
      mig,
      mayHaveMig: mayHaveMig || undefined,
      memoryMiB: memoryInName(name),
    }),
  };
}

/**
 * Memory in MiB that a name in the list of PCI IDs contains, e.g. `RTX 4060 Ti 16GB`; undefined if the name contains
 * none. The number in the name of a GH200 is the processor's memory.
 */
function memoryInName(name: string): number | undefined {
  const gigabytes = /^GH200/.test(name) ? undefined : / (\d+) ?GB\b/.exec(name)?.[1];
  return gigabytes === undefined ? undefined : Number(gigabytes) * 1024;
}

/**
 * Compute capability of the first chip prefix in the table for which `isMeant` is true; undefined if there is no such
 * prefix.
 */
function capabilityOf(isMeant: (start: string) => boolean): string | undefined {
  return Object.entries(chips.computeCapabilities).find(([start]) => isMeant(start))?.[1];
}

/** Facts that follow from a card's name. */
function traitsOfName(name: string): Pick<Card, "family" | "pciDevice" | "flavours"> {
  const family = familyOf(name);
  const pciDevice = family === "datacenter" ? "0302_10de" : "0300_10de";
  return { family, pciDevice, ...(openModulesOnly.test(name) ? { flavours: ["open"] } : {}) };
}

function familyOf(name: string): CardFamily {
  // `RTX 6090` is a GeForce, like every model that ends in 50 to 90. Workstation cards are `RTX 6000`, `RTX A6000`,
  // `RTX PRO 6000`.
  if (/^(GeForce|TITAN|CMP|P10[1-9]-|RTX \d0[5-9]0\b)/i.test(name)) return "geforce";
  if (/^(Tesla|PG\d|(A|H|L|B|GH|GB|AX|M|P|V)\d|T4G|T4\b|T10\b)|Server Edition/.test(name))
    return "datacenter";
  return /^(Quadro|NVS|RTX|T\d)/.test(name) ? "workstation" : "geforce";
}

/**
 * Words at the end of a name, each with the spelling in the tables; empty if the tables omit the words. `lookUp` tries
 * earlier rows first.
 */
const additions: [addition: RegExp, replacement: string][] = [
  [/(mobile|notebook|laptop|maxq)$/, "laptopgpu"],
  [/(mobile|notebook|laptopgpu|laptop|maxq)$/, "withmaxqdesign"],
  [/(gpu|edition|generation|withmaxqdesign|maxqdesign)$/, ""],
  [/(mobile|notebook|laptop|maxq|laptopgpu|embeddedgpu)$/, ""],
  [/(ada)(?!generation)/, "$1generation"],
  [/^(rtxpro\d+)$/, "$1blackwell"],
];

/**
 * The card with a model name, in any spelling that a driver prints, with or without vendor and family; undefined if the
 * tables lack it. A name may end in a memory size that the table's name lacks, except for cards with MIG, whose
 * geometry depends on the size. The model may also be a PCI ID (`10de:1b06`) or a line of `lspci -nn` with such an ID.
 */
export function findCard(model: string): Card | undefined {
  const device = deviceIn(model);
  if (device !== undefined) return isOlderDevice(device) ? undefined : cardOfDevice(device);
  const name = normalize(model);
  if (name.length > 80) return undefined;
  return lookUp(name) ?? withoutMemory(name);
}

const deviceIn = (model: string): string | undefined =>
  /(?:^|[\s[])(?:0x)?10de[:-](?:0x)?([0-9a-f]{4})(?![\w:])/i
    .exec(model.slice(0, 300))?.[1]
    ?.toLowerCase();

const older = new Set(olderNames.map(normalize));

/** Whether a model has an architecture that no driver of Talos supports: Fermi or Kepler. */
export function isTooOld(model: string): boolean {
  const device = deviceIn(model);
  return device === undefined
    ? findCard(model) === undefined && older.has(normalize(model))
    : isOlderDevice(device);
}

/**
 * The card with a device ID. If several cards share the ID, the result has only the facts that are true for all of
 * them; such cards differ in memory or cooling.
 */
function cardOfDevice(id: string): Card | undefined {
  const candidates = [
    ...new Set(namesOfDevice(id).flatMap((name) => lookUp(normalize(name)) ?? [])),
  ];
  const [first, ...otherCards] = candidates;
  if (first === undefined || otherCards.length === 0) return first;
  const {
    memoryMiB: _memory,
    memoriesMiB: _memories,
    rebuiltMiB: _rebuilt,
    power: _power,
    ...cardWithoutMemory
  } = first;
  if (candidates.some((card) => memorySizes(card).length === 0)) return cardWithoutMemory;
  const [size, ...otherSizes] = [...new Set(candidates.flatMap(memorySizes))];
  return otherSizes.length === 0
    ? { ...cardWithoutMemory, ...defined({ memoryMiB: size }) }
    : { ...cardWithoutMemory, memoriesMiB: [size!, ...otherSizes] };
}

function lookUp(name: string): Card | undefined {
  const exact = cardByName.get(name);
  if (exact) return exact;
  for (const [addition, replacement] of additions) {
    const card = cardByName.get(name.replace(addition, replacement));
    if (card) return card;
  }
  return undefined;
}

function withoutMemory(name: string): Card | undefined {
  const match = /^(.+?)(\d{1,8})(?:gb?|gib)(gddr\w+|hbm\w+)?(laptopgpu|edition)?$/.exec(name);
  // In `rtx30604gb` nothing marks the end of the model's number, so each place is tried.
  for (let digits = 1; match?.[2] && digits <= match[2].length; digits++) {
    const base = `${match[1]!}${match[2].slice(0, -digits)}${match[4] ?? ""}`;
    const card = lookUp(base);
    if (!card || card.mig || card.mayHaveMig) continue;
    const size = meantSize(card, Number(match[2].slice(-digits)) * 1024);
    return size === undefined ? card : withMemory(card, size);
  }
  return undefined;
}

/** The card of a stack's entry: from the tables, else from the stack's description; undefined if both lack it. */
export function cardOf(gpu: GpuSpec): Card | undefined {
  const knownCard = findCard(gpu.model);
  const statedMiB = statedMemory(gpu);
  if (knownCard) return withStatedMemory(knownCard, statedMiB);
  const row =
    gpu.architecture &&
    Object.entries(chips.architectures).find(([, name]) => name === gpu.architecture);
  if (!row) return undefined;
  const leastCapability = capabilityOf((start) => start.startsWith(row[0])) ?? "0.0";
  return {
    model: gpu.model,
    architecture: row[1],
    computeCapability: leastCapability,
    mayHaveMig: true,
    described: true,
    ...traitsOfName(gpu.model.replace(/^NVIDIA /, "")),
    ...defined({ memoryMiB: statedMiB }),
  };
}

/** Memory that a stack sets for a card, in MiB. */
export function statedMemory({ memory }: Pick<GpuSpec, "memory">): number | undefined {
  const bytes = memory === undefined ? undefined : quantityValue(memory);
  return bytes === undefined ? undefined : Math.round(bytes / 2 ** 20);
}

/**
 * The card with the memory size that the stack states, or with the nearest known size. If the card does not exist with
 * a similar size, the function ignores the stated size, and a check reports it.
 */
function withStatedMemory(card: Card, statedMiB: number | undefined): Card {
  if (statedMiB === undefined) return card;
  const size = memorySizes(card).length === 0 ? statedMiB : meantSize(card, statedMiB);
  return size === undefined ? card : withMemory(card, size);
}

/** Names of all models in the tables. */
export const knownModels = remembering((): readonly string[] => [
  ...new Set([...cardByName.values()].map((card) => card.model)),
]);
