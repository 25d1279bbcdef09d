import * as z from "zod";
import { duration, pollSeconds } from "./parts";

/** Annotation of a smoke test that was given up: why it could not run. The doctor reads it. */
export const UNTESTED = "talos-gpu/untested";

/** Task of `gate`. */
export const gateTask = z.strictObject({
  /** Namespace of the smoke tests and of what exposes the GPUs. */
  namespace: z.string().min(1),
  tests: z.array(
    z.strictObject({
      /** Node name of the machine. */
      machine: z.string().min(1),
      /** Name of its Job. */
      job: z.string().min(1),
      /** Identity of the Job. Only its change matters: a replaced Job makes the program run again. */
      uid: z.string().optional(),
      /** GPU resource that it requests one unit of. */
      resource: z.string().min(1),
      /** Units of it that the node shall offer. Default: whatever it offers. */
      units: z.number().int().positive().optional(),
    }),
  ),
  /** How long the tests may take. */
  limit: duration,
  /** How long a test waits for a unit while other pods run on all of them, and for the node to offer what it shall. */
  patience: duration,
  /** Whether a test waits for a unit until the limit, and has failed then: further machines wait for it. Default false. */
  mustPass: z.boolean().optional(),
  pollSeconds,
});
/** The task as the program reads it. */
export type GateTask = z.infer<typeof gateTask>;

/** Answer of `gate`. */
export const gateResult = z.object({
  /** Machines on whose cards a test has computed. */
  passed: z.array(z.string()),
  /** Machines that could not be tested, since other pods use all their units, and the pods; by name. */
  untested: z.record(z.string(), z.string()),
});
/** The answer as the program reads it back. */
export type GateResult = z.infer<typeof gateResult>;
