import { valueAt } from "../mapping";
import type { Fault } from "../rules";
import { faultOf } from "../rules/fault";
import type { Complaint } from "./check";
import data from "./checks.json";

/** Each check's rule, where the rule stands, and what it says. */
type Data = typeof data;

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
