/** Control characters but tab and newline, and marks that turn the direction of text (Unicode 16, Bidi_Control). */
// eslint-disable-next-line no-control-regex
const unprintable = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Colours of the command's own: those of a text's tone, nothing that moves, hides or names. */
// eslint-disable-next-line no-control-regex
const colour = /\x1b\[(?:2|22|31|32|33|39)m/y;

/**
 * A text as it may go to a terminal or a log: what would steer it is shown as `\u001b`, which JSON reads back as the same.
 *
 * @param coloured whether the command's own colours stay.
 */
export function printable(text: string, coloured: boolean): string {
  return text.replace(unprintable, (character, at: number) => {
    colour.lastIndex = at;
    if (coloured && colour.test(text)) return character;
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
