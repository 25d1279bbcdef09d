import { architectures, openModulesOnAllCards } from "./data/architectures.json";
import type { Card } from "./data/cards";
import cuda from "./data/cuda.json";
import { geometries } from "./data/mig.json";
import type { ModuleFlavour } from "../spec/index";
import { compareDotted, majorOf } from "./version";

export type { Card } from "./data/cards";
export { memoryBounds, memorySizes, meantSize, sizesInWords } from "./card-memory";
export { cardOf, findCard, isTooOld, knownModels, statedMemory } from "./find-card";

/** An architecture of NVIDIA cards, and the drivers and CUDA releases that support it. */
export interface Architecture {
  name: string;
  /** Flavours of the kernel modules that support the architecture; the first one is the default. */
  flavours: ModuleFlavour[];
  /** First CUDA release that can compile for the architecture, e.g. `12.8`. */
  firstCuda: string;
  /** Last CUDA major that supports the architecture; undefined if the current CUDA still supports it. */
  lastCudaMajor?: number;
  /** Oldest driver that supports the architecture. */
  minDriver: string;
  /** Last driver branch that supports the architecture; undefined if the current branch still supports it. */
  lastDriverBranch?: number;
}

/** The ways in which MIG can split a card. */
export interface MigGeometry {
  /** Profiles, each with the number of instances on one card. */
  profiles: Record<string, number>;
  /**
   * Number of devices of each profile that `all-balanced` makes on one card; undefined if mig-parted has no such
   * configuration for the card.
   */
  balanced?: Record<string, number>;
  /**
   * Profiles that the operator's MIG configuration lists only for other cards. With such a profile the MIG manager
   * reports success but splits no card. Default: none.
   */
  unlisted?: readonly string[];
  /** Oldest driver with MIG on this card. */
  minDriver: string;
  /**
   * Whether a change of the MIG mode needs a reset of the card (only Ampere). On such a card the mode survives reboots.
   * Newer cards change the mode at once, but lose it when the driver is unloaded. Source: NVIDIA MIG user guide,
   * "Enable MIG Mode".
   */
  modeNeedsReset?: boolean;
  /**
   * Whether MIG instances can run graphics, and can be made with or without media engines, as on RTX PRO cards. Source:
   * NVIDIA MIG user guide.
   */
  graphics?: boolean;
}

/** MIG geometries by the name of their card. If several cards have one geometry, the name is that of the first card. */
export const migGeometries: Record<string, MigGeometry> = geometries;

const architectureByName = new Map((architectures as Architecture[]).map((row) => [row.name, row]));

/** Architecture of a card. */
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
 * Whether the open modules of a driver find this card only with the parameter `NVreg_OpenRmEnableUnsupportedGpus=1`.
 * Without this parameter the modules load, but find no device.
 */
export const openModulesRefuse = (card: Card, driver: string): boolean =>
  card.family !== "datacenter" && compareDotted(driver, openModulesOnAllCards) < 0;

/**
 * Whether a card is part of a superchip with an arm64 processor. The model's name shows this: it begins with a letter
 * for the processor (G for Grace) and a letter for the card, e.g. GH200, GB300, GB10.
 */
export const isOfArm64 = ({ model }: Pick<Card, "model">): boolean =>
  /^(NVIDIA )?G[HB]\d/.test(model);

/**
 * Kernel arguments that a machine with these cards needs. From Talos 1.13 on the arm64 kernel uses branch target
 * identification, which makes NVIDIA's modules crash. Source: talos#13019 (GB10); siderolabs/docs v1.14,
 * nvidia-gpu-proprietary (Grace Blackwell). Grace Hopper has the same processor, so it gets the argument although no
 * report about it is known. Other arm64 machines, with a card in a slot, do not get the argument, because no report
 * about them is known either. A note of the checks names the argument for them.
 */
export const kernelArgsFor = (cards: readonly Card[]): string[] =>
  cards.some(isOfArm64) ? ["arm64.nobti"] : [];

/** Oldest driver that supports a card. */
export const minDriverOf = (card: Card): string => card.minDriver ?? architectureOf(card).minDriver;

/** Whether a driver supports a card: the driver is new enough, and its branch still supports the architecture. */
export function supportsCard(driver: string, card: Card): boolean {
  const last = architectureOf(card).lastDriverBranch;
  return (
    compareDotted(driver, minDriverOf(card)) >= 0 && (last === undefined || majorOf(driver) <= last)
  );
}

/** Newest CUDA release that supports a card; undefined if the current CUDA release still supports it. */
export function lastCudaOf(card: Card): string | undefined {
  const major = architectureOf(card).lastCudaMajor;
  return major === undefined ? undefined : (cuda.lastOfMajor as Record<number, string>)[major];
}

/** MIG geometry of a card; undefined if the tables have none. */
export const migOf = (card: Card): MigGeometry | undefined =>
  card.mig === undefined ? undefined : migGeometries[card.mig];

/**
 * Range of a card's power limits in watts. The function guesses a bound that differs by board and is in no data sheet.
 * Its guess for the least limit is a quarter of the default power. Its guess for the greatest limit is 1.5 times the
 * default power. Only the lab's emulation and notes use a guess; no check refuses a stack because of it. Undefined for
 * cards whose power the tables lack, and for cards without a power limit.
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

/** Range of the power limits that a card accepts. */
export type PowerRange = NonNullable<ReturnType<typeof powerRangeOf>>;
