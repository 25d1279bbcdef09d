import { version } from "../../components/package.json";
import { checks } from "../../components/recipe/checks";
import { inLine } from "../../components/recipe/rules/printable";
import type { Severity } from "../../components/recipe/index";
import type { Paint } from "../terminal/paint";
import type { FileFinding } from "./judge-files";

/**
 * Writers of findings, by the name of the format. Names in findings come from the authors of the files, so each format
 * writes them on one line, escaped.
 */
export const formats: Record<string, (findings: readonly FileFinding[], paint: Paint) => string> = {
  text,
  github,
  sarif,
};

const message = ({ problem, why, remedy, talos }: FileFinding): string =>
  `${problem}; ${why}; ${remedy} (Talos ${talos.join(", ")})`;

/** Name of a severity in each format. The text format prints no word for the severity `refused`. */
const words: Record<Severity, { text: string; github: string; sarif: string }> = {
  refused: { text: "", github: "error", sarif: "error" },
  warning: { text: "warning: ", github: "warning", sarif: "warning" },
  note: { text: "note: ", github: "notice", sarif: "note" },
};

const colours = { refused: "red", warning: "yellow", note: "dim" } as const;

/** A line for each finding; place and problem are coloured. */
function text(findings: readonly FileFinding[], paint: Paint): string {
  return findings
    .map(({ file, line, problem, why, remedy, talos, severity }) => {
      const place = paint("cyan", inLine(`${file}:${line}:`));
      const problemText = paint(colours[severity], inLine(`${words[severity].text}${problem}`));
      const explanation = inLine(`; ${why}; ${remedy} `);
      return `${place} ${problemText}${explanation}${paint("dim", inLine(`(Talos ${talos.join(", ")})`))}\n`;
    })
    .join("");
}

/**
 * Workflow commands that GitHub shows as annotations of a pull request. Source: docs.github.com, workflow commands;
 * actions/toolkit, command.ts, escapeData.
 */
function github(findings: readonly FileFinding[]): string {
  const data = (value: string): string => inLine(value).replaceAll("%", "%25");
  const property = (value: string): string =>
    data(value).replaceAll(":", "%3A").replaceAll(",", "%2C");
  return findings
    .map(
      (finding) =>
        `::${words[finding.severity].github} file=${property(finding.file)},line=${finding.line},title=${property(finding.check)}::${data(message(finding))}\n`,
    )
    .join("");
}

/**
 * A viewer makes a link of `[text](address)` also in plain text (SARIF 2.1.0, 3.11.6). A blank between `]` and `(`
 * prevents this.
 */
const withoutLinks = (value: string): string => value.replaceAll("](", "] (");

/**
 * SARIF 2.1.0 for GitHub's code scanning, which shows the short description of a rule (3.49.9) as the title of the
 * rule's findings.
 */
function sarif(findings: readonly FileFinding[]): string {
  const rules = [...new Set(findings.map(({ check }) => check))].map((id) => {
    const rule = checks[id]?.rule;
    return rule === undefined ? { id } : { id, shortDescription: { text: `${rule}.` } };
  });
  const results = findings.map((finding) => ({
    ruleId: finding.check,
    level: words[finding.severity].sarif,
    message: { text: withoutLinks(inLine(message(finding))) },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: encodeURI(finding.file) },
          region: { startLine: finding.line },
        },
      },
    ],
  }));
  const driver = { name: "talos-gpu", version, rules };
  return `${JSON.stringify({
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [{ tool: { driver }, results }],
  })}\n`;
}
