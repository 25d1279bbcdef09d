import { z } from "zod";
import type { CheckFailure, Properties } from "./provider";
import { UNKNOWN } from "./values";

/** A value, or what stands for one that only the update itself will know. */
export const orUnknown = <Type extends z.ZodType>(type: Type) => z.union([z.literal(UNKNOWN), type]);

/** Whether an argument has a value. */
export const given = (value: unknown): boolean => value !== undefined && value !== null;

/** What of a resource's arguments is not as its provider wants them, in words of the lab's own. */
export function failuresOf(schema: z.ZodType, inputs: Properties): CheckFailure[] {
  const { error } = schema.safeParse(inputs);
  return (error?.issues ?? []).map(({ path, message }) => ({ property: path.join("."), reason: message }));
}
