import { createHash } from "node:crypto";
import { isMapping } from "../mapping";

/**
 * A step into a configuration: a key of a mapping, the item of a list that has a value under a key, or the one that
 * is a value.
 */
export type Step = string | { key: string; id: string } | { member: unknown };

/** Where something stands: which document, and the steps into it. */
export interface Place {
  /** `config` for the machine and cluster document, else `kind/name`. */
  document: string;
  path: Step[];
}

/**
 * One thing that a merge brought in, and what stood there before. Plain JSON, kept between runs; holds no more of a
 * configuration than what patches set.
 */
export interface Addition extends Place {
  /**
   * `value`: a value of a mapping, or an item of a list; `container`: a mapping or list that was not there;
   * `document`: a whole document.
   */
  what: "value" | "container" | "document";
  /**
   * The added value; of a container, an empty one, since it is removed once it is empty. Hashes may replace long
   * texts (`shortenedAdded`).
   */
  value: unknown;
  /** The previous value; absent if there was none. */
  old?: unknown;
}

/** Additions of a merge, in their order. */
export interface Added {
  additions: Addition[];
}

/** Identity of an addition: what and where. */
export const identityOf = ({ what, document, path }: Addition): string =>
  JSON.stringify([what, document, shortenedPath(path)]);

/** Characters up to which a text is remembered as it is. */
const LONGEST_TEXT = 100;

/**
 * Copies a value and replaces each long text by its hash. The copy is enough to find out whether a field still has
 * the value that a merge added. A value that is already shortened stays as it is.
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
 * Additions of a merge in a form that stays short even with long texts. Previous values stay whole, because the
 * program restores them.
 */
export const shortenedAdded = ({ additions }: Added): Added => ({
  additions: additions.map((addition) => ({
    ...addition,
    path: shortenedPath(addition.path),
    value: shortened(addition.value),
  })),
});

/** Whether it is of a kernel module: in `machine.kernel.modules`, or a document of its own (Talos 1.14). */
export const isOfModules = ({ document, path: [first, second, third] }: Place): boolean =>
  document.startsWith("KernelModuleConfig/") ||
  (first === "machine" && second === "kernel" && third === "modules");
