/** Kinds of characters. Random text changes between them often, and words seldom. */
function kindOf(character: string): string {
  if (character >= "a" && character <= "z") return "lower";
  if (character >= "A" && character <= "Z") return "upper";
  if (character >= "0" && character <= "9") return "digit";
  return "other";
}

/**
 * Share of the characters that have another kind than the character before. In random base64 it is 0.65, in names like
 * NodeFeatureDiscovery 0.3.
 */
function changesOf(text: string): number {
  let changes = 0;
  for (let index = 1; index < text.length; index++)
    if (kindOf(text[index]!) !== kindOf(text[index - 1]!)) changes += 1;
  return changes / (text.length - 1);
}

/** Form of digests and of IDs of schematics, which are hexadecimal. */
const isHexadecimal = (text: string): boolean => /^[0-9a-f]*$/i.test(text);

/**
 * Whether the longest of a text's parts between slashes is random and has at least `shortest` characters, as a key has.
 * The parts of a path are shorter.
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
