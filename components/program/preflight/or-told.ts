import { LimitReached } from "../../clients/clock";
import { CallError, type FieldFinding, lastLine } from "../../clients/failure";
import type { Report } from "../progress";

/** Findings of a question; empty if the question failed, which is reported. */
export const orTold = (
  found: Promise<FieldFinding[]>,
  report: Report,
  failed: (why: string) => string,
): Promise<FieldFinding[]> => answerOr([], found, report, failed);

/**
 * An answer, or a default if the question failed. The failure is only reported: a failed call proves nothing about its
 * subject.
 */
export const answerOr = <T>(
  instead: T,
  answer: Promise<T>,
  report: Report,
  failed: (why: string) => string,
): Promise<T> =>
  answer.catch((error: unknown) => {
    if (!(error instanceof CallError || error instanceof LimitReached)) throw error;
    report(failed(lastLine(error)));
    return instead;
  });
