import { architectures, openModulesOnAllCards } from "./data/architectures.json";
import type { Card } from "./data/cards";
import cuda from "./data/cuda.json";
import { geometries } from "./data/mig.json";
import type { ModuleFlavour } from "../spec/index";
import { compareDotted, majorOf } from "./version";

export type { Card } from "./data/cards";
export { memoryBounds, memorySizes, meantSize, sizesInWords } from "./card-memory";
export { cardOf, findCard, isTooOld, knownModels, saidMemory } from "./find-card";

/** An architecture of NVIDIA's, and what drives it. */
export interface Architecture {
  name: string;
  /** Flavours of the kernel modules that drive it; the first one is the default. */
  flavours: ModuleFlavour[];
  /** First CUDA that compiles for it, e.g. `12.8`. */
  firstCuda: string;
  /** Last CUDA major that supports it; undefined: the current one does. */
  lastCudaMajor?: number;
  /** Oldest driver that knows it. */
  minDriver: string;
  /** Last driver branch that knows it; undefined: the current one does. */
  lastDriverBranch?: number;
}

/** How a card can be split. */
export interface MigGeometry {
  /** Profiles with the number of instances of one card. */
  profiles: Record<string, number>;
  /** Devices that `all-balanced` makes of one card; undefined if mig-parted has no such profile. */
  balanced?: Record<string, number>;
  /**
   * Of `profiles` those whose configuration in the operator's own list names other devices alone: the MIG manager
   * reports success and splits nothing. Default: none.
   */
  unlisted?: readonly string[];
  /** Oldest driver with MIG on this card. */
  minDriver: string;
  /**
   * Ampere alone: a change of the MIG mode takes a reset of the card, and then outlasts reboots. Newer cards change
   * it at once, and forget it when the driver is unloaded. Source: NVIDIA MIG user guide, "Enable MIG Mode".
   */
  modeNeedsReset?: boolean;
  /** Whether its instances may do graphics and choose their media engines: RTX PRO. Source: NVIDIA MIG user guide. */
  graphics?: boolean;
}

/** Geometries by the card that they are of, or by the first of several. */
export const migGeometries: Record<string, MigGeometry> = geometries;

const architectureByName = new Map((architectures as Architecture[]).map((row) => [row.name, row]));

/** Architecture of a card of the tables. */
export function architectureOf(card: Card): Architecture {
  const architecture = architectureByName.get(card.architecture);
  if (!architecture)
    throw new Error(
      `data/cards.json: ${card.model}: no architecture ${card.architecture} in data/architectures.json`,
    );
  return architecture;
}

/** Flavours of the kernel modules that drive a card; the default one first. */
export const flavoursOf = (card: Card): ModuleFlavour[] =>
  card.flavours ?? architectureOf(card).flavours;

/**
 * Whether the open modules of a driver refuse this card unless they are forced to take it, by
 * `NVreg_OpenRmEnableUnsupportedGpus=1`: old ones load, and find no device.
 */
export const openModulesRefuse = (card: Card, driver: string): boolean =>
  card.family !== "datacenter" && compareDotted(driver, openModulesOnAllCards) < 0;

/**
 * Whether a card comes with an arm64 processor: the superchips, whose name is for both. It begins with the
 * processor's letter, G of Grace, and the card's, e.g. GH200, GB300, GB10.
 */
export const isOfArm64 = ({ model }: Pick<Card, "model">): boolean =>
  /^(NVIDIA )?G[HB]\d/.test(model);

/**
 * Kernel arguments of a machine with these cards: from Talos 1.13 on it has branch target identification on arm64,
 * with which NVIDIA's modules crash. Source: talos#13019 (GB10); siderolabs/docs v1.14, nvidia-gpu-proprietary (Grace
 * Blackwell). Grace Hopper has the same processor as that; no report of one is known. Of other arm64 machines with a
 * card in a slot nothing is known either: a note names the argument if the stack shows that a machine is one.
 */
export const kernelArgsFor = (cards: readonly Card[]): string[] =>
  cards.some(isOfArm64) ? ["arm64.nobti"] : [];

/** Oldest driver that knows a card. */
export const minDriverOf = (card: Card): string => card.minDriver ?? architectureOf(card).minDriver;

/** Whether a driver knows a card: new enough, and not of a branch that dropped its architecture. */
export function drives(driver: string, card: Card): boolean {
  const last = architectureOf(card).lastDriverBranch;
  return (
    compareDotted(driver, minDriverOf(card)) >= 0 && (last === undefined || majorOf(driver) <= last)
  );
}

/** Newest CUDA that still knows a card; undefined: the current one. */
export function lastCudaOf(card: Card): string | undefined {
  const major = architectureOf(card).lastCudaMajor;
  return major === undefined ? undefined : (cuda.lastOfMajor as Record<number, string>)[major];
}

/** MIG geometry of a card; undefined when it has no MIG. */
export const migOf = (card: Card): MigGeometry | undefined =>
  card.mig === undefined ? undefined : migGeometries[card.mig];

/**
 * Range of power limits in watts, as far as it is known: a side that differs by board stays a guess: a quarter of the
 * reference design's power, or one and a half of it. It serves an emulation or a note, never a refusal. Undefined for
 * cards without a power in the tables, and for those without a limit of their own. An unknown side was not seen and
 * is in no data sheet.
 */
export function powerRangeOf(card: Card) {
  if (!card.power) return undefined;
  const { default: watts, min, max } = card.power;
  return {
    min: min ?? Math.ceil(watts / 4),
    max: max ?? Math.floor(watts * 1.5),
    knownMin: min !== undefined,
    knownMax: max !== undefined,
  };
}

/** Power limits that a card takes. */
export type PowerRange = NonNullable<ReturnType<typeof powerRangeOf>>;
