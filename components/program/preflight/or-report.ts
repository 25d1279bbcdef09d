import { LimitReached } from "../../clients/clock";
import { CallError, type FieldFinding, lastLine } from "../../clients/failure";
import type { Report } from "../progress";

/** Findings of a question; empty if the question failed, which is reported. */
export const findingsOrReport = (
  findings: Promise<FieldFinding[]>,
  report: Report,
  textOfFailure: (why: string) => string,
): Promise<FieldFinding[]> => answerOrReport([], findings, report, textOfFailure);

/**
 * An answer, or a default if the question failed. The failure is only reported: a failed call proves nothing about its
 * subject.
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
