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
  for (let at = 1; at < text.length; at++)
    if (kindOf(text[at]!) !== kindOf(text[at - 1]!)) changes += 1;
  return changes / (text.length - 1);
}

/** Form of digests and of IDs of schematics, which are hexadecimal. */
const isHexadecimal = (text: string): boolean => /^[0-9a-f]*$/i.test(text);

/** Whether the longest part of a text without a slash is as long as a key, and as random. A path has short parts. */
export function isRandom(text: string, shortest: number): boolean {
  const [longest = ""] = text
    .replace(/(?<!=)=+$/, "")
    .split("/")
    .sort((one, other) => other.length - one.length);
  const looked = longest.slice(0, 512);
  if (looked.length < shortest || isHexadecimal(looked) || !/^[A-Za-z0-9+_-]*$/.test(looked))
    return false;
  return (
    /\d/.test(looked) && /[A-Z]/.test(looked) && /[a-z]/.test(looked) && changesOf(looked) >= 0.4
  );
}
