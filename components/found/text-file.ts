import * as fs from "node:fs";

/**
 * Text of a file of somebody's: UTF-8, or UTF-16 as a Windows shell writes it (`>` of PowerShell 5). Which one it is, YAML tells by the
 * first bytes (yaml.org, spec 1.2.2, 5.2 Character Encodings).
 *
 * @throws Error of the system where the file cannot be read.
 */
export function textOfFile(file: string): string {
  const bytes = fs.readFileSync(file);
  const [first, second] = bytes;
  const isLittle = (first === 0xff && second === 0xfe) || (first !== 0 && second === 0);
  const isBig = (first === 0xfe && second === 0xff) || (first === 0 && second !== 0);
  return new TextDecoder(isLittle ? "utf-16le" : isBig ? "utf-16be" : "utf-8").decode(bytes);
}
