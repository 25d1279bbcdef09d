/**
 * Kind of a character. In random text, the kind often changes from one character to the next. In words, the kind seldom
 * changes.
 */
function kindOf(character: string): string {
  if (character >= "a" && character <= "z") return "lower";
  if (character >= "A" && character <= "Z") return "upper";
  if (character >= "0" && character <= "9") return "digit";
  return "other";
}

/**
 * Share of the characters whose kind differs from that of the character before. The share is 0.65 in random base64, and
 * 0.3 in names like NodeFeatureDiscovery.
 */
function changesOf(text: string): number {
  let changes = 0;
  for (let index = 1; index < text.length; index++)
    if (kindOf(text[index]!) !== kindOf(text[index - 1]!)) changes += 1;
  return changes / (text.length - 1);
}

/** Whether a text is hexadecimal, as digests and IDs of schematics are. */
const isHexadecimal = (text: string): boolean => /^[0-9a-f]*$/i.test(text);

/**
 * Whether the longest part of a text between slashes may be a key: it looks random, and has at least `shortest`
 * characters. The parts of a path are shorter.
 */
export function isRandom(text: string, shortest: number): boolean {
  const [longest = ""] = text
    .replace(/(?<!=)=+$/, "")
    .split("/")
    .sort((a, b) => b.length - a.length);
  const sample = longest.slice(0, 512);
  if (sample.length < shortest || isHexadecimal(sample) || !/^[A-Za-z0-9+_-]*$/.test(sample))
    return false;
  return (
    /\d/.test(sample) && /[A-Z]/.test(sample) && /[a-z]/.test(sample) && changesOf(sample) >= 0.4
  );
}
