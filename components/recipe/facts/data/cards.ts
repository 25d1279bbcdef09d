import type { ModuleFlavour } from "../../spec/index";
import data from "./cards.json";

/** Power of a card, in watts. */
export interface Power {
  /** Board power as it comes from NVIDIA, in watts. */
  default: number;
  /** Least and greatest limit that the card accepts, in watts; undefined: differs by board. */
  min?: number;
  max?: number;
  /**
   * Least limit that boards were seen to take, in watts, where others may take less: good for a note, never for a
   * refusal.
   */
  seenFrom?: number;
}

/** Market of a card: the open modules of old drivers know data-center cards only. */
export type CardFamily = "geforce" | "workstation" | "datacenter" | "spark";

/** Known facts about a card. */
export interface Card {
  /** Name as NVIDIA prints it, without vendor and family. */
  model: string;
  family: CardFamily;
  architecture: string;
  computeCapability: string;
  /** Memory of one GPU; undefined where the tables do not say it, or know several sizes. */
  memoryMiB?: number;
  /** Sizes that cards of this name exist with, the usual one first, if the stack does not say which one it is. */
  memoriesMiB?: number[];
  /** A size that NVIDIA never sold, with which rebuilt cards are about. */
  rebuiltMiB?: number;
  /** Class and vendor as Node Feature Discovery labels them, e.g. `0300_10de`. */
  pciDevice: string;
  power?: Power;
  /** Name of its geometry in mig.json. */
  mig?: string;
  /** Whether it may have MIG although no geometry of it is known. */
  mayHaveMig?: boolean;
  /** Whether the stack describes it, and no table has it. */
  described?: boolean;
  /** Flavours where this card differs from its architecture. */
  flavours?: ModuleFlavour[];
  /** Driver where this card needs a newer one than its architecture. */
  minDriver?: string;
}

type Line = Pick<Card, "architecture" | "computeCapability" | "family" | "pciDevice">;

/** Every card with more known than its architecture. Adding one is a line. */
export const cards: Card[] = (data.lines as (Line & { cards: Omit<Card, keyof Line>[] })[]).flatMap(
  ({ cards, ...line }) => cards.map((card) => ({ ...line, ...card })),
);

/** Names under which cards are also known, to the model of this table or of pci-cards.json. */
export const cardAliases: Record<string, string> = data.aliases;
