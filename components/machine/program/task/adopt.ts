import * as z from "zod";

/** Task of `adopt` and `release`. */
export const adoptTask = z.strictObject({
  machine: z.string().min(1),
  address: z.string().min(1),
  /** Strategic-merge patches (YAML text), in order. */
  patches: z.array(z.string()),
});
/** The task as the program reads it. */
export type AdoptTask = z.infer<typeof adoptTask>;

/** Answer of `adopt`: kept by Pulumi and handed back to the next `adopt` and to `release`. */
export const adoptResult = z.object({
  /** Hash of the machine's whole configuration after the merge. */
  hash: z.string(),
  /** What the merge added, and so what `release` takes away; as the merge wrote it. */
  added: z.any(),
  changed: z.boolean(),
});
/** The answer as the program reads it back. */
export type AdoptResult = z.infer<typeof adoptResult>;
