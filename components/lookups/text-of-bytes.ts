/**
 * Text of a file in UTF-8, or in UTF-16 as a Windows shell writes it (`>` of PowerShell 5). As in YAML, the first bytes
 * show the encoding (yaml.org, spec 1.2.2, 5.2 Character Encodings).
 */
export function textOfBytes(bytes: Uint8Array): string {
  const [first, second] = bytes;
  const isLittle = (first === 0xff && second === 0xfe) || (first !== 0 && second === 0);
  const isBig = (first === 0xfe && second === 0xff) || (first === 0 && second !== 0);
  return new TextDecoder(isLittle ? "utf-16le" : isBig ? "utf-16be" : "utf-8").decode(bytes);
}
