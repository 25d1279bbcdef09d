/** Number of single-character edits between two words (Levenshtein, with adjacent swaps counted once). */
export function editDistance(left: string, right: string): number {
  const rows: number[][] = [Array.from({ length: right.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= left.length; i++) {
    const row = [i];
    for (let j = 1; j <= right.length; j++) {
      const same = left[i - 1] === right[j - 1];
      let best = Math.min(at(rows, i - 1, j) + 1, (row[j - 1] ?? 0) + 1, at(rows, i - 1, j - 1) + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      if (swapped) best = Math.min(best, at(rows, i - 2, j - 2) + 1);
      row.push(best);
    }
    rows.push(row);
  }
  return at(rows, left.length, right.length);
}

function at(rows: number[][], i: number, j: number): number {
  return rows[i]?.[j] ?? 0;
}

/** Longest word that anybody could have misspelt: the distance takes the square of it. */
const longest = 128;

/** The word that was probably meant; undefined when none is near (a third of its length, at least two edits). */
export function closest(word: string, known: Iterable<string>): string | undefined {
  let best: { candidate: string; distance: number } | undefined;
  if (word.length > longest) return undefined;
  for (const candidate of known) {
    if (Math.abs(word.length - candidate.length) > Math.max(2, candidate.length / 3)) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance <= Math.max(2, Math.floor(candidate.length / 3)) && (!best || distance < best.distance))
      best = { candidate, distance };
  }
  return best?.candidate;
}

/** Sentence part that names the word that was probably meant, e.g. `did you mean "branch"? `; empty when none is near. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const candidate = closest(word, known);
  return candidate === undefined ? "" : `did you mean "${candidate}"? `;
}

/** The words that were probably meant, nearest first, at most three; names longer than any word are not compared. */
export function closestOnes(word: string, known: Iterable<string>): string[] {
  if (word.length > 80) return [];
  return [...known]
    .map((candidate) => ({ candidate, distance: editDistance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => distance <= Math.max(2, Math.floor(candidate.length / 3)))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ candidate }) => candidate);
}
