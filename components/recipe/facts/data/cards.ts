import type { ModuleFlavour } from "../../spec/index";
import data from "./cards.json";

/** Power of a card, in watts. */
export interface Power {
  /** Default power limit of the board, in watts. */
  default: number;
  /** Least and greatest limit that the card accepts, in watts; undefined if they differ by board. */
  min?: number;
  max?: number;
  /**
   * Least limit in watts that a board accepted in a test of this package. Other boards may accept less, so only a note
   * uses this value; no check refuses a stack because of it.
   */
  seenFrom?: number;
}

/** Market of a card: the open modules of old drivers support only data-center cards. */
export type CardFamily = "geforce" | "workstation" | "datacenter" | "spark";

/** Facts about a card. */
export interface Card {
  /** Name as NVIDIA prints it, without vendor and family. */
  model: string;
  family: CardFamily;
  architecture: string;
  computeCapability: string;
  /** Memory of one GPU in MiB; undefined if the tables have no size or several sizes. */
  memoryMiB?: number;
  /**
   * Sizes of memory in MiB with which cards of this name exist, the usual size first. Absent if there is only one size,
   * or if the stack chooses a size.
   */
  memoriesMiB?: number[];
  /** Size of memory in MiB that NVIDIA never sold, but that rebuilt cards have. */
  rebuiltMiB?: number;
  /** PCI class and vendor in the labels of Node Feature Discovery, e.g. `0300_10de`. */
  pciDevice: string;
  power?: Power;
  /** Name of the card's MIG geometry in mig.json; absent if the tables have none. */
  mig?: string;
  /** Whether the card may have MIG although the tables have no geometry for it. */
  mayHaveMig?: boolean;
  /** Whether the card's facts come only from the stack, because no table lists the card. */
  described?: boolean;
  /** Flavours of the kernel modules, if they differ from those of the architecture. */
  flavours?: ModuleFlavour[];
  /** Oldest driver, if the card needs a newer one than its architecture. */
  minDriver?: string;
}

type Line = Pick<Card, "architecture" | "computeCapability" | "family" | "pciDevice">;

/** Cards of cards.json, about which the package knows more than the architecture. */
export const cards: Card[] = (data.lines as (Line & { cards: Omit<Card, keyof Line>[] })[]).flatMap(
  ({ cards, ...line }) => cards.map((card) => ({ ...line, ...card })),
);

/** Other names of cards, each with the model that cards.json or pci-cards.json lists. */
export const cardAliases: Record<string, string> = data.aliases;
