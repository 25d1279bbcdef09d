import { inLine } from "../rules/printable";
import { placedProblem, type FieldFinding } from "../rules";
import type { Finding } from "../types";

/** One finding as a line: `field: what is wrong; why it matters; how to fix it`. */
export const renderFinding = (finding: FieldFinding): string =>
  `${finding.field}: ${placedProblem(finding)}; ${finding.why}; ${finding.remedy}`;

/**
 * One finding as a line that begins with its severity: `warning: field: …`. A finding that refuses the stack has no
 * severity.
 */
export const renderRemark = (finding: FieldFinding): string =>
  `${finding.severity === undefined ? "" : `${finding.severity}: `}${renderFinding(finding)}`;

/** All findings as numbered lines. Each finding is one line, and its text is safe for a terminal. */
export const renderFindings = (findings: Finding[]): string =>
  findings.map((finding, index) => `${index + 1}. ${inLine(renderFinding(finding))}`).join("\n");

/** Error for a stack that must not be applied. Its message lists all findings. */
export class InvalidStackError extends Error {
  public readonly findings: Finding[];

  constructor(findings: Finding[]) {
    super(
      `the stack has ${findings.length === 1 ? "a mistake" : `${findings.length} mistakes`}, so no machine and no cluster was contacted:\n${renderFindings(findings)}`,
    );
    this.name = "InvalidStackError";
    this.findings = findings;
  }
}
