import * as z from "zod";
import { duration, nodeTaint, pollSeconds } from "./parts";

/** A taint of a node; what else Kubernetes keeps of it (`timeAdded`) stays as it is. */
export const nodeTaintState = nodeTaint.loose();
/** A taint as the tasks hand it on. */
export type NodeTaintState = z.infer<typeof nodeTaintState>;

/** Task of `taint` and `untaint`. */
export const taintTask = z.strictObject({
  /** Node name of the machine. */
  machine: z.string().min(1),
  taints: z.array(nodeTaint.strict()),
});
/** The task of `taint` and `untaint` as the program reads it. */
export type TaintTask = z.infer<typeof taintTask>;

/** Answer of `taint`: kept by Pulumi and handed back to the next `taint` and to `untaint`. */
export const taintResult = z.object({
  /** Taints that were not there before, and so what `untaint` takes away. */
  added: z.array(nodeTaint),
  changed: z.boolean(),
});
/** The answer of `taint` as the program reads it back. */
export type TaintResult = z.infer<typeof taintResult>;

/** Task of `await-free`. */
export const freeTask = z.strictObject({
  /** RuntimeClass that the stack is about to make. */
  runtimeClass: z.string().min(1),
  /** Annotation that names an object's owner, and how its value begins where that is this stack. */
  mark: z.strictObject({ annotation: z.string(), ours: z.string() }),
  limit: duration,
  pollSeconds,
  /** Field of the stack that says that somebody else makes it; absent where the stack does. */
  theirs: z.string().optional(),
});
/** The task of `await-free` as the program reads it. */
export type FreeTask = z.infer<typeof freeTask>;

/** Answer of `await-free`. */
export interface FreeResult {
  runtimeClass?: string;
}

/** Task of `put-back`. */
export const putBackTask = z.strictObject({
  /** Field manager that the objects' maker applies them by. */
  manager: z.string().min(1),
  /** Objects as they shall be, in the order in which they need each other. */
  objects: z.array(
    z.looseObject({
      apiVersion: z.string().min(1),
      kind: z.string().min(1),
      metadata: z.looseObject({ name: z.string().min(1), namespace: z.string().optional() }),
    }),
  ),
});
/** The task of `put-back` as the program reads it. */
export type PutBackTask = z.infer<typeof putBackTask>;

/** Answer of `put-back`, as `Kind namespace/name`. */
export const putBackResult = z.object({
  /** Objects that were gone. */
  made: z.array(z.string()),
  /** Objects that said something else. */
  mended: z.array(z.string()),
});
/** The answer of `put-back`. */
export type PutBackResult = z.infer<typeof putBackResult>;
