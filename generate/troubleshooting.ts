import { type Cause, causes, type Fix, fixes } from "../components/diagnosis";
import { asHtml } from "./schema/page";

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
    const [beginEnd, endStart] = [text.indexOf(begin) + begin.length, text.indexOf(end)];
    if (beginEnd < begin.length || endStart < beginEnd)
      throw new Error(`troubleshooting: the page has no "${begin.trim()}"`);
    return `${text.slice(0, beginEnd)}${parts.join("\n")}\n${text.slice(endStart)}`;
  }, page);
}

function causeSection([, { symptom, errors, cause, remedy }]: [string, Cause]): string {
  const lines = linesOf(symptom, errors, cause, capital(fieldsAsCode(remedy)));
  return [`### ${capital(symptom)}`, "", ...lines].join("\n");
}

/**
 * Section of a fix: it shows only the symptom until opened, since a stack has the fix. The doctor prints what a stack's
 * user does if the fix was undone, so the page does not repeat it.
 */
function section({ id, symptom, errors, cause, does }: Fix): string {
  const lines = linesOf(symptom, errors, cause, `Make sure that ${fieldsAsCode(does)}`);
  const summary = `<summary><a id="${id}"></a>${asHtml(capital(symptom))}</summary>`;
  return [`<details>${summary}`, "", ...lines, "</details>", ""].join("\n");
}

/** The cause comes first, since the remedy refers to it. An error that the symptom quotes is not shown twice. */
function linesOf(
  symptom: string,
  errors: readonly string[] = [],
  cause: string,
  remedy: string,
): string[] {
  const shown = errors.filter((error) => !symptom.includes(error));
  return [
    ...(shown.length > 0 ? ["```text", ...shown, "```", ""] : []),
    `${capital(cause)}.`,
    "",
    `**Remedy.** ${remedy}.`,
    "",
  ];
}

/**
 * Puts the path of a field such as `machines.<name>.…` into backticks: in prose, a browser takes `<name>` for an
 * element and shows nothing.
 */
const fieldsAsCode = (text: string): string => text.replaceAll(/\b[\w.]+\.<\w+>[\w.]*\w/g, "`$&`");

/**
 * A sentence with a capital at its beginning, unless it begins with a name such as `vLLM`, `ext-nvidia-cdi-gen` or
 * `nvidia.com/gpu`.
 */
const capital = (text: string): string =>
  /^[a-z']+(?![\w-]|\.\w)/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
