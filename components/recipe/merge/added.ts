/** A step into a configuration: a key of a mapping, the item of a list that has a value under a key, or the one that is a value. */
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
  /** `value`: a value of a mapping, or an item of a list; `container`: a mapping or list that was not there; `document`: a whole document. */
  what: "value" | "container" | "document";
  /** Of a container, an empty one: it goes when nothing else is left in it. */
  value: unknown;
  /** What stood there; absent when nothing did. */
  old?: unknown;
}

/** What a merge brought in, in the order in which it did. */
export interface Added {
  additions: Addition[];
}

/** Identity of an addition: what and where. */
export const identityOf = ({ what, document, path }: Addition): string => JSON.stringify([what, document, path]);

/** Whether it is of a kernel module: in `machine.kernel.modules`, or a document of its own (Talos 1.14). */
export const isOfModules = ({ document, path: [first, second, third] }: Place): boolean =>
  document.startsWith("KernelModuleConfig/") || (first === "machine" && second === "kernel" && third === "modules");
