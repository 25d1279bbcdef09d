import { architectures, openModulesOnAllCards, type Architecture } from "./data/architectures";
import type { Card } from "./data/cards";
import { lastCudaOfMajor } from "./data/cuda";
import { migGeometries, type MigGeometry } from "./data/mig";
import type { ModuleFlavour } from "../spec/index";
import { compareDotted, majorOf } from "./version";

export { cardOf, findCard, isTooOld, knownModels } from "./find-card";

const architectureByName = new Map<string, Architecture>(architectures.map((row) => [row.name, row]));

/** Architecture of a card of the tables. */
export function architectureOf(card: Card): Architecture {
  const architecture = architectureByName.get(card.architecture);
  if (!architecture)
    throw new Error(`data/cards.ts: ${card.model}: no architecture ${card.architecture} in data/architectures.ts`);
  return architecture;
}

/** Flavours of the kernel modules that drive a card; the default one first. */
export function flavoursOf(card: Card): ModuleFlavour[] {
  return card.flavours ?? architectureOf(card).flavours;
}

/** Whether the open modules of a driver refuse this card unless they are forced to take it. */
export function openModulesRefuse(card: Card, driver: string): boolean {
  return card.family !== "datacenter" && compareDotted(driver, openModulesOnAllCards) < 0;
}

/** Oldest driver that knows a card. */
export function minDriverOf(card: Card): string {
  return card.minDriver ?? architectureOf(card).minDriver;
}

/** Whether a driver knows a card: new enough, and not of a branch that dropped its architecture. */
export function drives(driver: string, card: Card): boolean {
  const last = architectureOf(card).lastDriverBranch;
  return compareDotted(driver, minDriverOf(card)) >= 0 && (last === undefined || majorOf(driver) <= last);
}

/** Newest CUDA that still knows a card; undefined: the current one. */
export function lastCudaOf(card: Card): string | undefined {
  const major = architectureOf(card).lastCudaMajor;
  return major === undefined ? undefined : lastCudaOfMajor[major];
}

/** MIG geometry of a card; undefined when it has no MIG. */
export function migOf(card: Card): MigGeometry | undefined {
  return card.mig && migGeometries[card.mig];
}

/** Whether a card that the tables know no geometry of may have MIG nevertheless. */
export function mayHaveMig(card: Card): boolean {
  return card.mayHaveMig === true;
}

/**
 * Range of power limits in watts, as far as it is known: a side that differs by board stays a guess (a quarter of the
 * reference design's power, one and a half of it), good for an emulation and for a note, never for a refusal. Undefined for
 * cards of which the tables know no power, and for those without a limit of their own.
 */
export function powerRangeOf(card: Card): PowerRange | undefined {
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
export interface PowerRange {
  min: number;
  max: number;
  /** Whether `min` was seen or is in a data sheet; else it is a guess. */
  knownMin: boolean;
  /** The same for `max`. */
  knownMax: boolean;
}
