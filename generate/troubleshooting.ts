import { type Cause, causes, type Fix, fixes } from "../components/diagnosis";
import { checks } from "../components/recipe/index";

/**
 * The troubleshooting page (Markdown) with a section for each fix and each known cause, between the comments that name them. Everything
 * else on the page is written by hand.
 *
 * @param page The page as it is.
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
  return [
    `### ${capital(symptom)}`,
    "",
    "```text",
    ...errors,
    "```",
    "",
    `**Remedy.** ${capital(remedy)}.`,
    "",
    ...onDemand("Cause", [`${capital(cause)}.`, `Known as \`${id}\`. Source: ${source}.`]),
  ].join("\n");
}

function section({ id, symptom, errors, cause, does, inForce, source, check }: Fix): string {
  const known = check === undefined ? undefined : checks[check];
  const isRefused = known !== undefined && (known.severity ?? "refused") === "refused";
  const refused = isRefused
    ? ` The check \`${check}\` refuses at preview whatever would undo it.`
    : "";
  return [
    `### ${capital(symptom)}`,
    "",
    ...(errors && errors.length > 0 ? ["```text", ...errors, "```", ""] : []),
    ...onDemand("Cause and remedy", [
      `${capital(cause)}.`,
      `**Remedy.** Make sure that ${does}. A stack of this package does.${refused}`,
      ...(inForce === undefined
        ? []
        : [`If such a stack shows it nevertheless: ${fieldsAsCode(inForce)}.`]),
      `Fix \`${id}\`. Source: ${source}.`,
    ]),
  ].join("\n");
}

/** Paragraphs that a reader opens. */
const onDemand = (summary: string, paragraphs: string[]): string[] => [
  `<details><summary>${summary}</summary>`,
  "",
  ...paragraphs.flatMap((text) => [text, ""]),
  "</details>",
  "",
];

/** `machines.<name>.…` in backticks: in prose, a browser takes `<name>` for an element and shows nothing. */
const fieldsAsCode = (text: string): string => text.replaceAll(/\b[\w.]+\.<\w+>[\w.]*\w/g, "`$&`");

/** A sentence begins with a capital, unless it begins with a name such as `vLLM` or `ext-nvidia-cdi-gen`. */
const capital = (text: string): string =>
  /^[a-z']+(?![\w-])/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
