/** A line that a program wrote, and when, in seconds since it began. */
export interface Line {
  at: number;
  text: string;
}

/** A line of the picture, from when on, and until when it stands; without an end it stays. */
export interface Shown {
  text: string;
  row: number;
  from: number;
  to?: number;
}

/** Signs in a row of the picture; what is longer is cut off. */
export const columns = 112;

/**
 * What a terminal shows of a lab's lines: a phase that is done stays, the one under way has its last word below it.
 *
 * @param result text that the program printed in the end.
 */
export function screen(lines: readonly Line[], result: string, end: number): Shown[] {
  const shown: Shown[] = [];
  let row = 0;
  let passing: Shown[] = [];
  const clear = (at: number): void => {
    shown.push(...passing.map((one) => ({ ...one, to: one.to ?? at })));
    passing = [];
  };
  for (const { at, text } of lines) {
    if (/^[✔✖] /.test(text)) {
      clear(at);
      shown.push({ text, row: row++, from: at });
    } else if (text.startsWith("· ")) {
      clear(at);
      passing = [{ text, row, from: at }];
    } else if (passing.length > 0 && /^ {4}\S/.test(text)) {
      const [phase, ...said] = passing;
      shown.push(...said.map((one) => ({ ...one, to: at })));
      passing = [phase!, { text: text.slice(2), row: row + 1, from: at }];
    }
  }
  clear(end);
  for (const text of result.trimEnd().split("\n")) shown.push({ text, row: row++, from: end });
  return shown.filter(({ from, to }) => to === undefined || to > from);
}
