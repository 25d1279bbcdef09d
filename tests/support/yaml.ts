/**
 * A text of YAML inside TypeScript: without the indentation that all its lines share, and without the line breaks around
 * it, but with one at its end. A backslash stands for itself.
 */
export function yaml(text: TemplateStringsArray): string {
  const lines = text.raw
    .join("")
    .replace(/\\([`$])/g, "$1")
    .replace(/^\n|\n *$/g, "")
    .split("\n");
  const indents = lines.filter((line) => line !== "").map((line) => line.search(/[^ ]|$/));
  const shared = Math.min(...indents);
  return lines.map((line) => `${line.slice(shared)}\n`).join("");
}
