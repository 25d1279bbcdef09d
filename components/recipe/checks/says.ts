import { valueAt } from "../mapping";
import type { Fault } from "../rules";
import { faultOf } from "../rules/fault";
import type { Complaint } from "./check";
import data from "./checks.json";

/**
 * Each check's rule, where the rule stands, and what it says. `ofFiles`: it may judge a file of somebody's, too, beside which no stack stands
 * (`talos-gpu check`). A rule of stacks alone judges what is right in such a file, as the stack's part of it is somebody else's there (who writes
 * containerd's part, labels, modules and image), or what `check` made up for it.
 */
type Data = typeof data;

/** Whether a check may judge a file beside which no stack stands; what is no check of the table may. */
export const isOfFiles = (check: string): boolean =>
  (data as Partial<Record<string, { ofFiles: boolean }>>)[check]?.ofFiles ?? true;

/** A check, or one of the things that it says, e.g. `power-limit/outside`. */
type Saying = {
  [Check in keyof Data]: Data[Check] extends { says: infer Says }
    ? Says extends string
      ? Check
      : `${Check}/${keyof Says & string}`
    : never;
}[keyof Data];

/** What is wrong, as the table says it. */
export function fault(saying: Saying, things?: Record<string, unknown>): Fault {
  const [check, ...one] = saying.split("/");
  return faultOf(valueAt(data, check!, "says", ...one) as string, things);
}

/** The same of a field. */
export const complaint = (field: string, saying: Saying, things?: Record<string, unknown>): Complaint => ({
  field,
  ...fault(saying, things),
});
