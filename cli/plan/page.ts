import type { Finding, Severity } from "../../components/recipe/index";
import { placedProblem } from "../../components/recipe/rules";
import type { Comparison, Runs } from "./comparison";
import {
  drawn,
  extensionsOf,
  isUnchanged,
  namesOf,
  orderOfExtensions,
  releaseOf,
  remarksOf,
  type Step,
  stepsOf,
  summary,
  type Wave,
} from "./content";
import type { FieldChange } from "./differences";
import { asCell, asCode, asHtml, asLabel, asProse } from "./markdown";

/** Properties of a machine that are texts. */
type RunsText = Exclude<keyof Runs, "extensions">;

/**
 * First line of a page. It names the author of the texts, since the page appears under the name of the account that
 * posts it.
 */
const source =
  "Generated from the files of this change, so the author of the change wrote the names and texts below.";

/** The plan as Markdown for GitHub: the most important parts for a reviewer come first. */
export function pageOf(comparison: Comparison): string {
  const { stack, base, machines, findings } = comparison;
  const isSame = base !== undefined && isUnchanged(comparison);
  const remarks = (severity: Severity): string[] =>
    remarksOf(comparison, severity).map(({ text, isNew }) =>
      isNew ? `**new**: ${asProse(text)}` : asProse(text),
    );
  const comparedWith = (): string => {
    if (base === undefined)
      return "No earlier stack is compared, so this is the plan of a first update. It is based on the stack file alone: no machine was read.";
    if (isSame) return `Nothing changes compared with ${asCode(base)}.`;
    return `Compared with ${asCode(base)}. The plan assumes that machines and cluster are as the last update left them. **${asProse(summary(machines))}**`;
  };
  return joined([
    `## Plan of ${asProse(stack)}`,
    source,
    comparedWith(),
    ...list("Findings: the stack is refused", findings.map(findingLine)),
    ...changes("What changes in the stack", comparison.stackChanges),
    ...(isSame ? [] : details(comparison)),
    ...list("Warnings", remarks("warning")),
    ...list("Notes", remarks("note")),
  ]);
}

/** The page of a stack that has no plan. */
export const refusalOf = (findings: Finding[]): string =>
  joined(["The stack is refused:", bullets(findings.map(findingLine))]);

const findingLine = (finding: Finding): string =>
  `${asCode(finding.field)}: ${asProse(`${placedProblem(finding)}; ${finding.why}; ${finding.remedy}`)}`;

const joined = (paragraphs: string[]): string => `${paragraphs.join("\n\n")}\n`;

function details(comparison: Comparison): string[] {
  const { base, machines, valueChanges, images, away } = comparison;
  const imageCells = images.map(asCode);
  return [
    "### Machines",
    table(
      ["machine", "reboots", "why", "drained", "away for at most"],
      machines.map(({ name, reboots, because, drained, awayForAtMost }) => [
        asProse(name),
        `**${reboots}**`,
        asProse(because),
        asProse(drained ?? "no"),
        asProse(awayForAtMost ?? "not at all"),
      ]),
    ),
    table(
      ["machine", "Talos", "schematic", "driver", "CUDA"],
      machines.map(({ name, before, after }) => [
        asProse(name),
        ...(["talosVersion", "schematicId", "driver", "cuda"] as const).map((field) =>
          step(before, after, field),
        ),
      ]),
    ),
    ...list(
      "Extensions",
      extensionsOf(machines).map(
        ({ names, extensions }) =>
          `${asProse(namesOf(names))}: ${extensions.map(asCode).join(", ") || "none"}`,
      ),
    ),
    orderOfExtensions,
    ...machines
      .filter(({ configuration }) => configuration.length > 0)
      .map(({ name, configuration }) =>
        difference(`Configuration of ${asHtml(name)}`, configuration),
      ),
    "### In Kubernetes",
    asProse(releaseOf(comparison)),
    ...changes("Helm values", valueChanges),
    ...(base === undefined
      ? list("Images that machines pull in addition to those of the chart", imageCells)
      : []),
    ...list("What is unavailable meanwhile", away.map(asProse)),
    "### Order",
    mermaid(graph(stepsOf(comparison))),
  ];
}

function step(before: Runs | undefined, after: Runs | undefined, field: RunsText): string {
  const cellOf = (runs: Runs | undefined): string => {
    if (runs === undefined) return "(none)";
    return runs[field] === ""
      ? "none"
      : asCode(runs[field].replace(/^([0-9a-f]{12})[0-9a-f]{52}$/, "$1"));
  };
  const [previousCell, nextCell] = [cellOf(before), cellOf(after)];
  return before === undefined || previousCell === nextCell
    ? nextCell
    : `${previousCell} → ${nextCell}`;
}

function changes(title: string, fieldChanges: FieldChange[]): string[] {
  const items = fieldChanges.map(({ field, before, after }) => {
    if (after === undefined) return `${asCode(field)} is removed; it was ${asCode(before ?? "")}`;
    return before === undefined
      ? `${asCode(field)} is new: ${asCode(after)}`
      : `${asCode(field)}: ${asCode(before)} → ${asCode(after)}`;
  });
  return list(title, items);
}

const list = (title: string, items: string[]): string[] =>
  items.length === 0 ? [] : [`### ${title}`, bullets(items)];

const bullets = (items: string[]): string => items.map((item) => `- ${item}`).join("\n");

const table = (head: string[], rows: string[][]): string =>
  [head, head.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map(asCell).join(" | ")} |`)
    .join("\n");

/** A block of code with a fence that is longer than any in the text, since a patch may contain backticks. */
function difference(title: string, lines: string[]): string {
  const longest = Math.max(2, ...[...lines.join("\n").matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return [
    `<details><summary>${title}</summary>`,
    "",
    `${fence}diff`,
    ...lines,
    fence,
    "",
    "</details>",
  ].join("\n");
}

const mermaid = (lines: string[]): string => ["```mermaid", ...lines, "```"].join("\n");

function graph(steps: Step[]): string[] {
  let waves = 0;
  const boxes = steps.map((step, index): { id: string; lines: string[] } => {
    if ("machines" in step) {
      const number = ++waves;
      const inside = boxesOf(step).map((text, box) => `    m${number}_${box + 1}["${text}"]`);
      return {
        id: `wave${number}`,
        lines: [`  subgraph wave${number}["${number}"]`, ...inside, "  end"],
      };
    }
    const id = `step${index + 1}`;
    return {
      id,
      lines: [`  ${id}${step.gate ? `{{"${asLabel(step.once)}"}}` : `["${asLabel(step.once)}"]`}`],
    };
  });
  return [
    "flowchart LR",
    ...boxes.flatMap(({ lines }) => lines),
    ...boxes.slice(1).map(({ id }, index) => `  ${boxes[index]!.id} --> ${id}`),
  ];
}

/** Texts about reboots for a box of the diagram, without the condition. */
const inABox: Record<string, string> = {
  yes: "reboots",
  "only if": "may reboot",
  no: "does not reboot",
};
const rebootsOfSeveral: Record<string, string> = {
  yes: "reboot",
  "only if": "may reboot",
  no: "do not reboot",
};

/** Texts in the boxes of a wave: a box for each machine, or boxes with numbers of machines if the wave has many. */
function boxesOf({ machines }: Wave): string[] {
  if (machines.length <= drawn)
    return machines.map(
      ({ name, reboots }) => `${asLabel(name)}<br/>${inABox[reboots] ?? reboots}`,
    );
  const rebootKinds = [...new Set(machines.map(({ reboots }) => reboots))].sort();
  return rebootKinds.map((kind) => {
    const count = machines.filter(({ reboots }) => reboots === kind).length;
    const rebootText = (count === 1 ? inABox : rebootsOfSeveral)[kind] ?? kind;
    return `${count} machine${count === 1 ? "" : "s"}<br/>${rebootText}`;
  });
}
