import { createHash } from "node:crypto";
import { isMapping } from "../mapping";

/**
 * One step of a path in a configuration: a key of a mapping, or an item of a list. An item is given by the value `id`
 * of its field `key`, or by its whole value (`member`).
 */
export type Step = string | { key: string; id: string } | { member: unknown };

/** A place in a configuration: the document, and the path in this document. */
export interface Place {
  /** Name of the document: `config` for the document with machine and cluster, else `kind/name`. */
  document: string;
  path: Step[];
}

/**
 * One value that a merge added, with the previous value. It is JSON, because Pulumi's state keeps it for later updates.
 * The previous value comes from another owner and may be a secret, so the state encrypts it.
 */
export interface Addition extends Place {
  /**
   * `value`: a value in a mapping, or an item of a list. `container`: a mapping or list that the merge created because
   * it was missing. `document`: a whole document.
   */
  what: "value" | "container" | "document";
  /**
   * The added value. For a `container` it is an empty mapping or list: an undo removes a container only if it is empty.
   * Hashes may replace long texts (`shortenedAdded`).
   */
  value: unknown;
  /** The value before the merge; absent if the place had no value. */
  old?: unknown;
}

/** All additions of a merge, in the order in which it made them. */
export interface Added {
  additions: Addition[];
}

/** Identity of an addition: its kind and its place. */
export const identityOf = ({ what, document, path }: Addition): string =>
  JSON.stringify([what, document, shortenedPath(path)]);

/** Greatest length of a text that is not replaced by a hash. */
const LONGEST_TEXT = 100;

/**
 * Copies a value and replaces long texts by their hashes. A comparison with the copy still shows whether a field has
 * the value that a merge added. Hashes in the value stay as they are.
 */
export function shortened(value: unknown): unknown {
  if (typeof value === "string" && value.length > LONGEST_TEXT)
    return { "talos-gpu/sha256": createHash("sha256").update(value).digest("base64") };
  if (Array.isArray(value)) return value.map(shortened);
  if (!isMapping(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shortened(inner)]));
}

const shortenedPath = (path: Step[]): Step[] =>
  path.map((step) =>
    typeof step === "object" && "member" in step ? { member: shortened(step.member) } : step,
  );

/**
 * Additions of a merge with hashes instead of long texts. Previous values keep their texts, because an undo restores
 * them.
 */
export const shortenedAdded = ({ additions }: Added): Added => ({
  additions: additions.map((addition) => ({
    ...addition,
    path: shortenedPath(addition.path),
    value: shortened(addition.value),
  })),
});

/** Whether an addition is for a kernel module: in `machine.kernel.modules`, or in a separate document (Talos 1.14). */
export const isOfModules = ({ document, path: [first, second, third] }: Place): boolean =>
  document.startsWith("KernelModuleConfig/") ||
  (first === "machine" && second === "kernel" && third === "modules");
