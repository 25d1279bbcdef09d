/** A step into a configuration: a key of a mapping, or the item of a list that has a value under a key. */
export type Step = string | { key: string; id: string };

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
   * `scalar`: a value of a mapping; `item`: a list item with a key; `member`: a list item without one;
   * `container`: a mapping or list that was not there; `document`: a whole document.
   */
  what: "scalar" | "item" | "member" | "container" | "document";
  value?: unknown;
  /** What stood there; absent when nothing did. */
  old?: unknown;
}

/** What a merge brought in, in the order in which it did. */
export interface Added {
  additions: Addition[];
}

/** Identity of an addition: what and where. */
export function identityOf(addition: Addition): string {
  return JSON.stringify([
    addition.what,
    addition.document,
    addition.path,
    addition.what === "member" ? addition.value : null,
  ]);
}

/** Whether it is of a kernel module: in `machine.kernel.modules`, or a document of its own (Talos 1.14). */
export function isOfModules({ document, path: [first, second, third] }: Place): boolean {
  return (
    document.startsWith("KernelModuleConfig/") || (first === "machine" && second === "kernel" && third === "modules")
  );
}
