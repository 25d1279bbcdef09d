import { valueAt } from "../mapping";
import type { Fault } from "../rules";
import type { Complaint } from "./check";
import data from "./checks.json";

/** Each check's rule, where the rule stands, and what it says: `what is wrong; why it matters; what to do`, with places in braces. */
type Data = typeof data;

/** A check, or one of the things that it says, e.g. `power-limit/outside`. */
type Saying = {
  [Check in keyof Data]: Data[Check] extends { says: infer Says }
    ? Says extends string
      ? Check
      : `${Check}/${keyof Says & string}`
    : never;
}[keyof Data];

/** What the places are filled from: `{machine.name}` is the name of what is given as `machine`. A list is told with commas. */
type Things = Record<string, unknown>;

/** What is wrong, as the table says it. */
export function fault(saying: Saying, things: Things = {}): Fault {
  const [check, ...one] = saying.split("/");
  const text = valueAt(data, check!, "says", ...one) as string;
  const [problem, why, remedy] = text.split("; ").map((part) =>
    part.replace(/\{([\w.]+)\}/g, (_, place: string) => {
      const thing = valueAt(things, ...place.split("."));
      return Array.isArray(thing) ? thing.join(", ") : String(thing);
    }),
  );
  return { problem: problem!, why: why!, remedy: remedy! };
}

/** The same of a field. */
export const complaint = (field: string, saying: Saying, things?: Things): Complaint => ({
  field,
  ...fault(saying, things),
});
