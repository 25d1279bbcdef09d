import { LimitReached } from "../../clients/clock";
import { CallError, type FieldFinding, lastLine } from "../../clients/failure";
import type { Report } from "../progress";

/** Findings of a question; none if the question failed, which is reported. */
export const orTold = (
  found: Promise<FieldFinding[]>,
  report: Report,
  failed: (why: string) => string,
): Promise<FieldFinding[]> => answerOr([], found, report, failed);

/**
 * An answer, or another in its place where the question failed, which is reported: a failed call says nothing of what
 * it asked for.
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
