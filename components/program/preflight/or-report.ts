import { LimitReached } from "../../clients/clock";
import { CallError, type FieldFinding, lastLine } from "../../clients/failure";
import type { Report } from "../progress";

/** The findings of a check. If the check fails, the function reports that, and returns no finding. */
export const findingsOrReport = (
  findings: Promise<FieldFinding[]>,
  report: Report,
  textOfFailure: (why: string) => string,
): Promise<FieldFinding[]> => answerOrReport([], findings, report, textOfFailure);

/**
 * The answer of a call, or `fallback` if the call fails. A failure is only reported, because a failed call proves
 * nothing about its subject.
 */
export const answerOrReport = <T>(
  fallback: T,
  answer: Promise<T>,
  report: Report,
  textOfFailure: (why: string) => string,
): Promise<T> =>
  answer.catch((error: unknown) => {
    if (!(error instanceof CallError || error instanceof LimitReached)) throw error;
    report(textOfFailure(lastLine(error)));
    return fallback;
  });
