import type { Problem } from "../recipe/rules/fault";

export { type Problem, problemAt } from "../recipe/rules/fault";

/** What went wrong with a call, as far as it decides what to do next. */
export type CallProblem =
  /** No answer: refused, reset, timed out. The machine may be rebooting. */
  | "unreachable"
  /** The machine answered that it cannot now, e.g. another upgrade is running. */
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
    public readonly problem: CallProblem,
    message: string,
  ) {
    super(message);
  }
}

/** Whether a later try may succeed. */
export const isTransient = (error: unknown): boolean =>
  error instanceof CallError && (error.problem === "unreachable" || error.problem === "busy");

/** Why the program stops. Holds every problem, so that one run tells all of them. */
export class Failure extends Error {
  readonly findings: Problem[];

  constructor(...findings: Problem[]) {
    super(findings.map(({ field, problem, why, remedy }) => `${field}: ${problem}; ${why}; ${remedy}`).join("\n"));
    this.findings = findings;
  }
}

/** Last line of an error's message. */
export function lastLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.trim().split("\n").at(-1) ?? "";
}

/** PEM blocks, and values of keys that hold credentials. */
const SECRETS: [RegExp, string][] = [
  [/-----BEGIN [^-]+-----[\s\S]*?-----END [^-]+-----/g, "[redacted]"],
  [
    /(["']?\b(?:token|secret|password|key|crt|ca|bootstraptoken|[a-z-]+-data)["']?\s*[:=]\s*)(["']?)[^\s"',}]{6,}\2/gi,
    "$1[redacted]",
  ],
];

/** Long base64, and what looks like it but is known not to be: digests and schematic IDs, with the path before them. */
const BASE64 = /[A-Za-z0-9+/]{48,}={0,2}/g;
const DIGEST = /^(?:[a-z0-9]*\/)*[0-9a-f]{64}$/;

/**
 * Takes credentials out of a text that goes to a log or an error.
 *
 * @param known values that are secret for sure; each occurrence goes.
 */
export function redact(text: string, known: readonly string[] = []): string {
  const cleaned = known
    .filter((value) => value.length >= 8)
    .reduce((rest, value) => rest.split(value).join("[redacted]"), text);
  const named = SECRETS.reduce((rest, [pattern, by]) => rest.replace(pattern, by), cleaned);
  return named.replace(BASE64, (text) => (DIGEST.test(text) ? text : "[redacted]"));
}
