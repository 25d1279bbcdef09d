import type { Card } from "./data/cards";

/** Facts of a card that concern its memory. */
type Memory = Pick<Card, "memoryMiB" | "memoriesMiB" | "rebuiltMiB">;

/**
 * Greatest relative difference between the memory that a card reports and its nominal size. A10 and T4 reserve a
 * sixteenth for error correction, and a user's `16G` (powers of ten) is 7 % less than 16 GiB. Two sizes of cards with
 * one name differ by more: the closest pair is 10 and 12 GiB.
 */
const tolerance = 0.08;

/** Sizes in MiB that a card of this name may have, including rebuilt cards; empty if the size is unknown. */
export function memorySizes({ memoryMiB, memoriesMiB, rebuiltMiB }: Memory): number[] {
  const sold = memoriesMiB ?? (memoryMiB === undefined ? [] : [memoryMiB]);
  return rebuiltMiB === undefined ? sold : [...sold, rebuiltMiB];
}

/**
 * The size of a card that is nearest to the size that a user wrote, e.g. 16380 for 16 GiB; undefined if no size is
 * similar.
 */
export function meantSize(card: Memory, saidMiB: number): number | undefined {
  const distance = (size: number): number => Math.abs(size - saidMiB) / size;
  const [nearest] = memorySizes(card).toSorted((a, b) => distance(a) - distance(b));
  return nearest !== undefined && distance(nearest) <= tolerance ? nearest : undefined;
}

/** Least and greatest memory of a card in MiB, without rebuilt cards; undefined if the memory is unknown. */
export function memoryBounds({
  memoryMiB,
  memoriesMiB,
}: Memory): { least: number; greatest: number } | undefined {
  if (memoryMiB !== undefined) return { least: memoryMiB, greatest: memoryMiB };
  if (memoriesMiB === undefined) return undefined;
  return { least: Math.min(...memoriesMiB), greatest: Math.max(...memoriesMiB) };
}

/** Sizes in the notation of a stack, e.g. `8188Mi or 16380Mi`. */
export const sizesInWords = (sizes: readonly number[]): string =>
  sizes
    .toSorted((a, b) => a - b)
    .map((size) => `${size}Mi`)
    .join(" or ");

const sized = new Map<string, Card>();

/**
 * The card with this size of memory. Equal arguments give the same object, because callers compare cards by identity.
 */
export function withMemory(card: Card, memoryMiB: number): Card {
  if (card.memoryMiB === memoryMiB) return card;
  const key = JSON.stringify([card.model, card.pciDevice, memoryMiB]);
  const { memoriesMiB: _several, ...otherFields } = card;
  const sizedCard = sized.get(key) ?? { ...otherFields, memoryMiB };
  sized.set(key, sizedCard);
  return sizedCard;
}
