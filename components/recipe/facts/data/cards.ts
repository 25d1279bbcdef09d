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
   * Least limit in watts that this package has seen a board accept. Other boards may accept less, so it serves a note,
   * and never a refusal.
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
  /** Memory of one GPU in MiB; undefined if the tables lack it, or have several sizes. */
  memoryMiB?: number;
  /**
   * Sizes of memory in MiB with which cards of this name exist, the usual size first. Absent if there is only one, or
   * if the stack chooses one.
   */
  memoriesMiB?: number[];
  /** Size of memory in MiB that NVIDIA never sold, but that rebuilt cards have. */
  rebuiltMiB?: number;
  /** PCI class and vendor in the labels of Node Feature Discovery, e.g. `0300_10de`. */
  pciDevice: string;
  power?: Power;
  /** Name of its geometry in mig.json. */
  mig?: string;
  /** Whether the card may have MIG although the tables have no geometry for it. */
  mayHaveMig?: boolean;
  /** Whether only the stack describes the card, and no table lists it. */
  described?: boolean;
  /** Flavours of the kernel modules, if they differ from those of the architecture. */
  flavours?: ModuleFlavour[];
  /** Oldest driver, if the card needs a newer one than its architecture. */
  minDriver?: string;
}

type Line = Pick<Card, "architecture" | "computeCapability" | "family" | "pciDevice">;

/** All cards about which more than the architecture is known. */
export const cards: Card[] = (data.lines as (Line & { cards: Omit<Card, keyof Line>[] })[]).flatMap(
  ({ cards, ...line }) => cards.map((card) => ({ ...line, ...card })),
);

/** Other names of cards, each with the model in this table or in pci-cards.json. */
export const cardAliases: Record<string, string> = data.aliases;
