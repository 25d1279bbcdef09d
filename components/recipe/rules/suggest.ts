/** Number of single-character edits between two words (Levenshtein, with adjacent swaps counted once). */
export function editDistance(left: string, right: string): number {
  let before: number[] = [];
  let above = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let i = 1; i <= left.length; i++) {
    const row = [i];
    for (let j = 1; j <= right.length; j++) {
      const same = left[i - 1] === right[j - 1];
      const swapped = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      const best = Math.min(above[j]! + 1, row[j - 1]! + 1, above[j - 1]! + (same ? 0 : 1));
      row.push(swapped ? Math.min(best, before[j - 2]! + 1) : best);
    }
    [before, above] = [above, row];
  }
  return above[right.length]!;
}

/** Longest word that anybody could have misspelt: the distance takes the square of it. */
const longest = 128;

/** The words that were probably meant, nearest first, at most three (a third of a word's length away, at least two edits). */
export function closestOnes(word: string, known: Iterable<string>): string[] {
  if (word.length > longest) return [];
  const most = (candidate: string): number => Math.max(2, Math.floor(candidate.length / 3));
  return [...known]
    .filter((candidate) => Math.abs(word.length - candidate.length) <= most(candidate))
    .map((candidate) => ({ candidate, distance: editDistance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => distance <= most(candidate))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ candidate }) => candidate);
}

/** The word that was probably meant; undefined when none is near. */
export const closest = (word: string, known: Iterable<string>): string | undefined => closestOnes(word, known)[0];

/** Sentence part that names the word that was probably meant, e.g. `did you mean "branch"? `; empty when none is near. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const candidate = closest(word, known);
  return candidate === undefined ? "" : `did you mean "${candidate}"? `;
}
