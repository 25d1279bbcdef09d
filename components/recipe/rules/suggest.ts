/**
 * Number of single-character edits between two words (Levenshtein, with adjacent swaps counted once).
 *
 * @param maxDistance greatest distance of interest. If the words' distance is greater, the result is some number above
 * `maxDistance`.
 */
export function editDistance(left: string, right: string, maxDistance = Infinity): number {
  // A common beginning needs no edit, and most names of a kind have one.
  let commonLength = 0;
  while (commonLength < left.length && left[commonLength] === right[commonLength]) commonLength++;
  if (commonLength > 0)
    return editDistance(left.slice(commonLength), right.slice(commonLength), maxDistance);
  const width = right.length + 1;
  let [twoRowsAbove, above, row] = [
    new Uint16Array(width),
    new Uint16Array(width).map((_, index) => index),
    new Uint16Array(width),
  ];
  let minimumAbove = 0;
  for (let i = 1; i <= left.length; i++) {
    const letter = left.charCodeAt(i - 1);
    let rowMinimum = (row[0] = i);
    for (let j = 1; j < width; j++) {
      const otherLetter = right.charCodeAt(j - 1);
      let distance = Math.min(above[j]!, row[j - 1]!) + 1;
      distance = Math.min(distance, above[j - 1]! + (letter === otherLetter ? 0 : 1));
      if (
        i > 1 &&
        j > 1 &&
        letter === right.charCodeAt(j - 2) &&
        left.charCodeAt(i - 2) === otherLetter
      )
        distance = Math.min(distance, twoRowsAbove[j - 2]! + 1);
      row[j] = distance;
      if (distance < rowMinimum) rowMinimum = distance;
    }
    // Each number follows from one of the two rows above it, and is never smaller.
    if (rowMinimum > maxDistance && minimumAbove > maxDistance) return rowMinimum;
    minimumAbove = rowMinimum;
    [twoRowsAbove, above, row] = [above, row, twoRowsAbove];
  }
  return above[right.length]!;
}

/** Longest word that is compared, because the time grows with the square of its length. */
const longest = 128;

/**
 * At most three words that a user probably meant, the nearest first. Their distance is at most two edits, or a third of
 * the candidate's length if that is more.
 */
export function closestOnes(word: string, candidates: Iterable<string>): string[] {
  if (word.length > longest) return [];
  const lower = word.toLowerCase();
  const maxDistance = (candidate: string): number => Math.max(2, Math.floor(candidate.length / 3));
  return [...candidates]
    .filter((candidate) => Math.abs(word.length - candidate.length) <= maxDistance(candidate))
    .map((candidate) => ({
      candidate,
      distance: editDistance(lower, candidate.toLowerCase(), maxDistance(candidate)),
    }))
    .filter(({ candidate, distance }) => distance <= maxDistance(candidate))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ candidate }) => candidate);
}

/** The word that a user probably meant; undefined if no candidate is near. */
export const nearestWord = (word: string, candidates: Iterable<string>): string | undefined =>
  closestOnes(word, candidates)[0];

/**
 * Question about the word that a user probably meant, e.g. `did you mean "branch"? `; empty if no candidate is near.
 */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const candidate = nearestWord(word, candidates);
  return candidate === undefined ? "" : `did you mean "${candidate}"? `;
}
