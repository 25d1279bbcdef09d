import { type Cause, causes, type Fix, fixes } from "../components/diagnosis";

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

function causeSection([, { symptom, errors, cause, remedy }]: [string, Cause]): string {
  return sectionOf(symptom, errors, [
    `${capital(cause)}.`,
    `**Remedy.** ${capital(fieldsAsCode(remedy))}.`,
  ]);
}

/** The doctor prints what a stack's user does if the fix was undone, so the page does not repeat it. */
function section({ symptom, errors, cause, does }: Fix): string {
  return sectionOf(symptom, errors, [
    `${capital(cause)}.`,
    `**Remedy.** Make sure that ${fieldsAsCode(does)}.`,
  ]);
}

/** The cause comes first, since the remedy refers to it. An error that the heading quotes is not shown twice. */
function sectionOf(
  symptom: string,
  errors: readonly string[] = [],
  paragraphs: readonly string[],
): string {
  const shown = errors.filter((error) => !symptom.includes(error));
  return [
    `### ${capital(symptom)}`,
    "",
    ...(shown.length > 0 ? ["```text", ...shown, "```", ""] : []),
    ...paragraphs.flatMap((text) => [text, ""]),
  ].join("\n");
}

/** `machines.<name>.…` in backticks: in prose, a browser takes `<name>` for an element and shows nothing. */
const fieldsAsCode = (text: string): string => text.replaceAll(/\b[\w.]+\.<\w+>[\w.]*\w/g, "`$&`");

/** A sentence begins with a capital, unless it begins with a name such as `vLLM` or `ext-nvidia-cdi-gen`. */
const capital = (text: string): string =>
  /^[a-z']+(?![\w-])/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
