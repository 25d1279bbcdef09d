/**
 * A text as code in Markdown, on one line, with a fence that the text does not contain (spec.commonmark.org, 6.1 Code
 * spans).
 */
export function asCode(text: string): string {
  const line = text.replaceAll("\r", "\\r").replaceAll("\n", "\\n");
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  const space = line.startsWith("`") || line.endsWith("`") || line === "" ? " " : "";
  return `${fence}${space}${line}${space}${fence}`;
}

/**
 * A text in Markdown, on one line: pairs of single backticks are code, as in the package's own messages; all else is
 * plain.
 */
export function asProse(text: string): string {
  const parts = text.replace(/[\r\n]+/g, " ").split("`");
  const isOpen = parts.length % 2 === 0;
  const escapedParts = parts.map((part, index) => {
    const isLast = index === parts.length - 1;
    if (index % 2 === 1 && !isLast && part !== "") return `\`${part}\``;
    if (index % 2 === 1)
      return `${isLast && !isOpen ? "" : "\\`"}${plain(part)}${isLast ? "" : "\\`"}`;
    return plain(part);
  });
  return escapedParts
    .join("")
    .replace(/^(\s*)([#>+=-])/, "$1\\$2")
    .replace(/^(\s*\d{1,9})([.)])/, "$1\\$2");
}

/**
 * Characters that begin emphasis, links, images, HTML, entities, formulas and strikes. An underscore within a word
 * begins nothing. A backslash at the end would escape the next character.
 */
const plain = (text: string): string =>
  withoutMentions(
    text.replace(
      /\\(?=[!-/:-@[-`{-~]|$)|[*[\]<&$]|~(?=~)|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])/g,
      "\\$&",
    ),
  );

/**
 * Inserts an invisible character into texts that GitHub turns into links and mentions even without Markdown syntax:
 * `@name`, `#1`, addresses (github.github.com/gfm, 6.9 Autolinks; docs.github.com, Autolinked references). GitHub does
 * this on the rendered page, so a backslash would not help.
 */
const withoutMentions = (text: string): string =>
  text.replace(/@|#(?=\d)|\bGH-(?=\d)|:(?=\/\/)|\bwww(?=\.)|\b(?:mailto|xmpp)(?=:)/gi, "$&\u200b");

/** A text in HTML, safe also if Markdown is rendered within it. */
export const asHtml = (text: string): string =>
  withoutMentions(text)
    .replace(/[\r\n]+/g, " ")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replace(/[`*_[\]\\~$]/g, (character) => `&#${character.charCodeAt(0)};`);

/**
 * A cell of a table. A bar ends a cell even in code, and a backslash before the bar could be read as an escape of the
 * bar.
 */
export const asCell = (markdown: string): string =>
  markdown.replace(/\\(?=\|)/g, "\\\u200b").replaceAll("|", "\\|");

/**
 * A text in a box of Mermaid, whose entities begin with # (mermaid.js.org, Flowcharts, Entity codes to escape
 * characters).
 */
export const asLabel = (text: string): string =>
  text.replace(/["`<>#&;[\]{}\\\r\n]/g, (character) => `#${character.charCodeAt(0)};`);
