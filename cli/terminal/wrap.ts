/**
 * Wraps a text into lines of a given length, between words if possible. Existing line breaks stay.
 *
 * @param indent beginning of all lines after the first, e.g. spaces below a bullet.
 */
export function wrap(text: string, columns: number, indent = ""): string[] {
  return text.split("\n").flatMap((line) => wrapLine(line, Math.max(1, columns), indent));
}

/** Number of columns of a bullet, or of the mark of a changed line, at the beginning of a text. */
const bullet = 4;

function wrapLine(line: string, columns: number, indent: string): string[] {
  const lines: string[] = [];
  // An indentation of more than half the line would leave no room for words.
  const margin = widthOf(indent) <= columns / 2 ? indent : "";
  let current = /^ */.exec(line)![0].slice(0, columns - 1);
  let isBare = true;
  const next = (): void => {
    lines.push(current.trimEnd());
    current = margin;
    isBare = true;
  };
  for (const word of line.split(" ").filter((part) => part !== "")) {
    // A word that is longer than a line begins on the bullet's line, not below it.
    const isBullet =
      widthOf(current) <= Math.min(bullet, columns - 2) &&
      widthOf(word) > columns - widthOf(margin);
    if (!isBare && !isBullet && widthOf(current) + 1 + widthOf(word) > columns) next();
    if (!isBare) current += " ";
    let characters = [...word];
    while (widthOf(current) + characters.length > columns) {
      const freeColumns = columns - widthOf(current);
      current += characters.slice(0, freeColumns).join("");
      characters = characters.slice(freeColumns);
      next();
    }
    current += characters.join("");
    isBare = false;
  }
  return [...lines, current.trimEnd()];
}

/** Columns of a text: one for each character. */
export const widthOf = (text: string): number => [...text].length;
