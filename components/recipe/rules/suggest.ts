/**
 * Number of single-character edits between two words (Levenshtein, with adjacent swaps counted once).
 *
 * @param most greatest distance of interest. For words with a greater distance the result is any greater number.
 */
export function editDistance(left: string, right: string, most = Infinity): number {
  // A common beginning needs no edit, and most names of a kind have one.
  let alike = 0;
  while (alike < left.length && left[alike] === right[alike]) alike++;
  if (alike > 0) return editDistance(left.slice(alike), right.slice(alike), most);
  const width = right.length + 1;
  let [before, above, row] = [
    new Uint16Array(width),
    new Uint16Array(width).map((_, at) => at),
    new Uint16Array(width),
  ];
  let leastAbove = 0;
  for (let i = 1; i <= left.length; i++) {
    const letter = left.charCodeAt(i - 1);
    let least = (row[0] = i);
    for (let j = 1; j < width; j++) {
      const other = right.charCodeAt(j - 1);
      let best = Math.min(above[j]!, row[j - 1]!) + 1;
      best = Math.min(best, above[j - 1]! + (letter === other ? 0 : 1));
      if (i > 1 && j > 1 && letter === right.charCodeAt(j - 2) && left.charCodeAt(i - 2) === other)
        best = Math.min(best, before[j - 2]! + 1);
      row[j] = best;
      if (best < least) least = best;
    }
    // Each number follows from one of the two rows above it, and is never smaller.
    if (least > most && leastAbove > most) return least;
    leastAbove = least;
    [before, above, row] = [above, row, before];
  }
  return above[right.length]!;
}

/** Longest word that is compared, because the time grows with the square of its length. */
const longest = 128;

/**
 * At most three words that a user probably meant, the nearest first. Their distance is at most a third of the word's
 * length, or two edits.
 */
export function closestOnes(word: string, known: Iterable<string>): string[] {
  if (word.length > longest) return [];
  const lower = word.toLowerCase();
  const most = (candidate: string): number => Math.max(2, Math.floor(candidate.length / 3));
  return [...known]
    .filter((candidate) => Math.abs(word.length - candidate.length) <= most(candidate))
    .map((candidate) => ({
      candidate,
      distance: editDistance(lower, candidate.toLowerCase(), most(candidate)),
    }))
    .filter(({ candidate, distance }) => distance <= most(candidate))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ candidate }) => candidate);
}

/** The word that a user probably meant; undefined if none is near. */
export const closest = (word: string, known: Iterable<string>): string | undefined =>
  closestOnes(word, known)[0];

/** Question about the word that a user probably meant, e.g. `did you mean "branch"? `; empty if none is near. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const candidate = closest(word, known);
  return candidate === undefined ? "" : `did you mean "${candidate}"? `;
}
