/**
 * A YAML text inside TypeScript: without the indentation that all its lines share, and without the line breaks
 * around it, but with one at its end. A backslash is a plain character.
 *
 * @param values values of one line
 */
export function yaml(text: TemplateStringsArray, ...values: string[]): string {
  const [first = "", ...otherParts] = text.raw.map((part) => part.replace(/\\([`$])/g, "$1"));
  const lines = otherParts
    .reduce((textSoFar, part, index) => `${textSoFar}${values[index]}${part}`, first)
    .replace(/^\n|\n *$/g, "")
    .split("\n");
  const indents = lines.filter((line) => line !== "").map((line) => line.search(/[^ ]|$/));
  const sharedIndent = Math.min(...indents);
  return lines.map((line) => `${line.slice(sharedIndent)}\n`).join("");
}
