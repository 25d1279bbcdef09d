import { architectures, openModulesOnAllCards, type Architecture } from "./data/architectures";
import { cardAliases, cards, type Card } from "./data/cards";
import { lastCudaOfMajor } from "./data/cuda";
import { migGeometries, type MigGeometry } from "./data/mig";
import type { ModuleFlavour } from "../stack/spec/index";
import { compareDotted, majorOf } from "./version";

/** A model without vendor, family, case and punctuation. */
function normalize(model: string): string {
  return model
    .toLowerCase()
    .replace(/\b(nvidia|geforce|tesla|quadro)\b/g, "")
    .replace(/[^a-z0-9]+/g, "");
}

const cardByName = new Map<string, Card>(cards.map((card) => [normalize(card.model), card]));
for (const [alias, model] of Object.entries(cardAliases)) {
  const card = cardByName.get(normalize(model));
  if (card && !cardByName.has(normalize(alias))) cardByName.set(normalize(alias), card);
}

/** The card of a model name, written as NVIDIA prints it or without vendor and family; undefined when the tables lack it. */
export function findCard(model: string): Card | undefined {
  return cardByName.get(normalize(model));
}

/** Models of the tables. */
export function knownModels(): string[] {
  return cards.map((card) => card.model);
}

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

/**
 * Range of power limits in watts. Where boards differ by maker, the widest range that a board may have: a quarter to
 * one and a half of the reference design's power. Undefined for cards without a limit of their own.
 */
export function powerRangeOf(card: Card): { min: number; max: number; exact: boolean } | undefined {
  if (!card.power) return undefined;
  const { default: watts, min, max } = card.power;
  return {
    min: min ?? Math.ceil(watts / 4),
    max: max ?? Math.floor(watts * 1.5),
    exact: min !== undefined && max !== undefined,
  };
}
