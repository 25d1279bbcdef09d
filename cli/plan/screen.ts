import type { Finding, Severity } from "../../components/recipe/index";
import { inLine } from "../../components/recipe/rules/printable";
import { renderFinding } from "../../components/recipe/stack/findings";
import { painter, type Style } from "../terminal/paint";
import { type Cell, renderTable } from "../terminal/table";
import { wrap } from "../terminal/wrap";
import type { Comparison, MachineComparison, Runs } from "./comparison";
import {
  extensionsOf,
  isUnchanged,
  namesOf,
  orderOfExtensions,
  releaseOf,
  remarksOf,
  type Step,
  stepsOf,
  summary,
} from "./content";
import type { FieldChange } from "./differences";

/** Properties of the output for a plan. */
export interface Screen {
  columns: number;
  colour: boolean;
}

/** Colours of the texts about reboots. */
const styles: Record<string, Style> = { yes: "red", "only if": "yellow", no: "green" };

/**
 * The plan for a terminal: the content of the page in tables and lines that fit, without the page's collapsed sections.
 */
export function screenOf(unescapedComparison: Comparison, { columns, colour }: Screen): string {
  const comparison = inLines(unescapedComparison);
  const { stack, base, machines, findings, stackChanges, valueChanges, images, away } = comparison;
  const paint = painter(colour);
  const lines = (texts: string[], style?: Style): string[] =>
    texts.flatMap((text) =>
      wrap(`  • ${text}`, columns, "    ").map((line) => (style ? paint(style, line) : line)),
    );
  const heading = (title: string): string[] =>
    wrap(title, columns).map((line) => paint("bold", line));
  const part = (title: string, texts: string[], style?: Style): string[] =>
    texts.length === 0 ? [] : ["", ...heading(title), ...lines(texts, style)];
  const prose = (text: string): string[] => wrap(text, columns);
  const table = (head: string[], rows: Cell[][]): string =>
    renderTable(head, rows, { columns, paint });
  const isSame = base !== undefined && isUnchanged(comparison);
  const details = (): string[] => [
    "",
    table(
      ["machine", "reboots", "why", "drained", "away for at most"],
      machines.map(({ name, reboots, because, drained, awayForAtMost }) => [
        name,
        { text: reboots, style: styles[reboots] ?? "bold" },
        because,
        drained ?? "no",
        awayForAtMost ?? "not at all",
      ]),
    ),
    table(
      ["machine", "Talos", "schematic", "driver", "CUDA"],
      machines.map((machine) => [
        machine.name,
        ...(["talosVersion", "schematicId", "driver", "cuda"] as const).map((field) =>
          step(machine, field),
        ),
      ]),
    ),
    ...part(
      "Extensions",
      extensionsOf(machines).map(
        ({ names, extensions }) => `${namesOf(names)}: ${extensions.join(", ") || "none"}`,
      ),
    ),
    ...wrap(`  ${orderOfExtensions}`, columns, "  ").map((line) => paint("dim", line)),
    ...(base === undefined ? [] : machines.flatMap(differenceOf)),
    ...part("In Kubernetes", [releaseOf(comparison)]),
    ...part("Helm values", valueChanges.map(changeOf)),
    ...(base === undefined
      ? part("Images that machines pull in addition to those of the chart", images)
      : []),
    ...part("What is unavailable meanwhile", away),
    ...orderOf(stepsOf(comparison)),
  ];
  const differenceOf = ({ name, configuration }: MachineComparison): string[] =>
    configuration.length === 0
      ? []
      : [
          "",
          ...heading(`Configuration of ${name}`),
          ...configuration.flatMap((line) => {
            const style = ({ "+": "green", "-": "red", "@": "cyan" } as const)[line[0]!];
            return wrap(`  ${line}`, columns, "    ").map((wrappedLine) =>
              style === undefined ? wrappedLine : paint(style, wrappedLine),
            );
          }),
        ];
  const orderOf = (steps: Step[]): string[] => [
    "",
    ...heading("Order"),
    ...steps.flatMap((orderStep, index) =>
      wrap(`  ${index + 1}. ${inWords(orderStep)}`, columns, "     "),
    ),
  ];
  const remarks = (severity: Severity): string[] =>
    remarksOf(comparison, severity).map(({ text, isNew }) => (isNew ? `new: ${text}` : text));
  return [
    ...heading(`Plan of ${stack}${base === undefined ? "" : ` compared with ${base}`}`),
    ...prose(
      base === undefined
        ? "No earlier stack is compared, so this is the plan of a first update. It is based on the stack file alone: no machine was read."
        : isSame
          ? `Nothing changes compared with ${base}.`
          : `The plan assumes that machines and cluster are as the last update left them. ${summary(machines)}`,
    ),
    ...part("Findings: the stack is refused", findings.map(renderFinding), "red"),
    ...part("What changes in the stack", stackChanges.map(changeOf)),
    ...(isSame ? [] : details()),
    ...part("Warnings", remarks("warning"), "yellow"),
    ...part("Notes", remarks("note")),
    "",
    ...prose("--markdown prints the plan as Markdown, with each machine's configuration").map(
      (line) => paint("dim", line),
    ),
    "",
  ].join("\n");
}

/** The text in a terminal for a stack that has no plan. */
export function refusalOnScreen(findings: Finding[], { columns, colour }: Screen): string {
  const paint = painter(colour);
  const lines = findings.flatMap((finding) =>
    wrap(`  • ${inLine(renderFinding(finding))}`, columns, "    "),
  );
  return [
    paint("bold", "The stack is refused:"),
    ...lines.map((line) => paint("red", line)),
    "",
  ].join("\n");
}

/** The comparison for a terminal: each text is on one line and escaped. */
const inLines = (comparison: Comparison): Comparison =>
  JSON.parse(JSON.stringify(comparison), (_, value: unknown) =>
    typeof value === "string" ? inLine(value) : value,
  ) as Comparison;

function step(
  { before, after }: MachineComparison,
  field: Exclude<keyof Runs, "extensions">,
): Cell {
  const cellText = (runs: Runs | undefined): string =>
    runs === undefined
      ? "(none)"
      : runs[field].replace(/^([0-9a-f]{12})[0-9a-f]{52}$/, "$1") || "none";
  const [previousText, nextText] = [cellText(before), cellText(after)];
  return before === undefined || previousText === nextText
    ? nextText
    : { text: `${previousText} → ${nextText}`, style: "yellow" };
}

function changeOf({ field, before, after }: FieldChange): string {
  if (after === undefined) return `${field} is removed; it was ${before ?? ""}`;
  return before === undefined ? `${field} is new: ${after}` : `${field}: ${before} → ${after}`;
}

/** A step of the update on one line. */
function inWords(orderStep: Step): string {
  if (!("machines" in orderStep)) return orderStep.once;
  const rebootTexts: Record<string, string> = {
    yes: "reboots",
    "only if": "may reboot",
    no: "stays up",
  };
  const kinds = [...new Set(orderStep.machines.map(({ reboots }) => reboots))];
  return kinds
    .map((kind) => {
      const names = orderStep.machines
        .filter(({ reboots }) => reboots === kind)
        .map(({ name }) => name);
      return `${namesOf(names)} (${rebootTexts[kind] ?? kind})`;
    })
    .join("; ");
}
