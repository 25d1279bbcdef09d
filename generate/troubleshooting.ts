import { type Cause, causes, type Fix, fixes } from "../components/diagnosis";
import { checks } from "../components/recipe/index";

/**
 * The troubleshooting page (Markdown), with a generated section for each fix and each known cause between their marker
 * comments. People write the rest of the page by hand.
 *
 * @param page The present page.
 */
export function withFailures(page: string): string {
  const sections = { fixes: fixes.map(section), causes: Object.entries(causes).map(causeSection) };
  return Object.entries(sections).reduce((text, [name, parts]) => {
    const [begin, end] = [
      `<!-- ${name}: made from components/diagnosis -->\n\n`,
      `<!-- end of ${name} -->`,
    ];
    const [before, after] = [text.indexOf(begin) + begin.length, text.indexOf(end)];
    if (before < begin.length || after < before)
      throw new Error(`troubleshooting: the page has no "${begin.trim()}"`);
    return `${text.slice(0, before)}${parts.join("\n")}\n${text.slice(after)}`;
  }, page);
}

function causeSection([id, { symptom, errors, cause, remedy, source }]: [string, Cause]): string {
  return sectionOf(symptom, errors, [
    `${capital(cause)}.`,
    `**Remedy.** ${capital(remedy)}.`,
    `Name of this cause: \`${id}\`. Source: ${source}.`,
  ]);
}

function section({ id, symptom, errors, cause, does, inForce, source, check }: Fix): string {
  const known = check === undefined ? undefined : checks[check];
  const isRefused = known !== undefined && (known.severity ?? "refused") === "refused";
  const refused = isRefused
    ? ` At preview, the check \`${check}\` refuses a stack that would undo it.`
    : "";
  return sectionOf(symptom, errors, [
    `${capital(cause)}.`,
    `**Remedy.** Make sure that ${does}. A stack of this package does this by itself.${refused}`,
    ...(inForce === undefined
      ? []
      : [`If a stack of this package shows this failure: ${fieldsAsCode(inForce)}.`]),
    `Name of this fix: \`${id}\`. Source: ${source}.`,
  ]);
}

/** The cause comes first, since the remedy refers to it. */
const sectionOf = (
  symptom: string,
  errors: readonly string[] = [],
  paragraphs: readonly string[],
): string =>
  [
    `### ${capital(symptom)}`,
    "",
    ...(errors.length > 0 ? ["```text", ...errors, "```", ""] : []),
    ...paragraphs.flatMap((text) => [text, ""]),
  ].join("\n");

/** `machines.<name>.…` in backticks: in prose, a browser takes `<name>` for an element and shows nothing. */
const fieldsAsCode = (text: string): string => text.replaceAll(/\b[\w.]+\.<\w+>[\w.]*\w/g, "`$&`");

/** A sentence begins with a capital, unless it begins with a name such as `vLLM` or `ext-nvidia-cdi-gen`. */
const capital = (text: string): string =>
  /^[a-z']+(?![\w-])/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
