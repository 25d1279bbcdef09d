import { createHash } from "node:crypto";
import { isMapping } from "../mapping";

/**
 * A step into a configuration: a key of a mapping, or an item of a list. An item is selected by a value under one of
 * its keys, or by its own value.
 */
export type Step = string | { key: string; id: string } | { member: unknown };

/** A place in a configuration: the document, and the steps into it. */
export interface Place {
  /** Name of the document: `config` for the document with machine and cluster, else `kind/name`. */
  document: string;
  path: Step[];
}

/**
 * One addition of a merge, with the previous value. Plain JSON that is kept between runs. It contains only parts of the
 * configuration that patches set.
 */
export interface Addition extends Place {
  /**
   * `value`: a value of a mapping, or an item of a list. `container`: a mapping or list that was missing. `document`: a
   * whole document.
   */
  what: "value" | "container" | "document";
  /**
   * The added value. For a container it is empty, because the container is removed once it is empty. Hashes may replace
   * long texts (`shortenedAdded`).
   */
  value: unknown;
  /** The previous value; absent if the place had none. */
  old?: unknown;
}

/** All additions of a merge, in their order. */
export interface Added {
  additions: Addition[];
}

/** Identity of an addition: its kind and its place. */
export const identityOf = ({ what, document, path }: Addition): string =>
  JSON.stringify([what, document, shortenedPath(path)]);

/** Length up to which a text is kept without a hash. */
const LONGEST_TEXT = 100;

/**
 * Copies a value with hashes instead of long texts. The copy still shows whether a field has the value that a merge
 * added. A hash stays unchanged.
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
 * Additions of a merge with hashes instead of long texts. Previous values stay whole, because the program restores
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
