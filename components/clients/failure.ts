import type { FieldFinding } from "../recipe/rules/finding";

export type { FindingText, FieldFinding } from "../recipe/rules/finding";

/** Kind of a call's failure, which determines the next step. */
export type CallErrorKind =
  /** No answer: refused, reset, timed out. The machine may be rebooting. */
  | "unreachable"
  /** The machine answered that it cannot do this now, e.g. because another upgrade is running. */
  | "busy"
  /** The machine does not have this method. */
  | "unimplemented"
  /** The file or resource is not there. */
  | "missing"
  /** Anything else: a refusal, wrong credentials. Trying again does not help. */
  | "refused";

/** A call of the machine API or of Kubernetes that failed. Its message is free of secrets. */
export class CallError extends Error {
  constructor(
    public readonly problem: CallErrorKind,
    message: string,
    /** Milliseconds until the server accepts the next request; undefined if the server named no time. */
    readonly retryAfter?: number,
  ) {
    super(message);
  }
}

/** Whether a later try may succeed. */
export const isTransient = (error: unknown): boolean =>
  error instanceof CallError && (error.problem === "unreachable" || error.problem === "busy");

/** Error that ends the program, with all findings of the run. */
export class Failure extends Error {
  readonly findings: FieldFinding[];

  constructor(...findings: FieldFinding[]) {
    super(
      findings
        .map(({ field, problem, why, remedy }) => `${field}: ${problem}; ${why}; ${remedy}`)
        .join("\n"),
    );
    this.findings = findings;
  }
}

/** Last line of an error's message. */
export function lastLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.trim().split("\n").at(-1) ?? "";
}
