import * as z from "zod";
import { parseDuration } from "../../../recipe/rules/duration";

/** A duration, e.g. `90s` or `10m`. */
export const duration = z.string().check(
  z.refine((text) => {
    try {
      return parseDuration(text) > 0;
    } catch {
      return false;
    }
  }, "not a duration like 90s or 10m"),
);

/** What is lost on purpose. */
export const drop = z.strictObject({
  extensions: z.array(z.string()).optional(),
  kernelArgs: z.array(z.string()).optional(),
  overlay: z.boolean().optional(),
  platform: z.boolean().optional(),
  embeddedMachineConfiguration: z.boolean().optional(),
});

/** A taint as a stack says it. */
export const nodeTaint = z.object({ key: z.string().min(1), value: z.string().optional(), effect: z.string().min(1) });

/** Seconds between two looks of a task that waits. Default 1. */
export const pollSeconds = z.number().positive().default(1);
