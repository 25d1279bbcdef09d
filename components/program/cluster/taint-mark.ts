import type { NodeTaintState } from "../task";

/** Taints of a node. */
export interface NodeTaints {
  taints: NodeTaintState[];
  /** Taints that the node's annotation names as this program's, even if the node no longer has them. */
  stackTaints: NodeTaintState[];
}

/**
 * Annotation of a node with the taints that this program has set, in kubectl's notation, separated by commas. The
 * program writes taints and annotation in one request. If the answer of a run is lost, only the annotation says which
 * taints this run set.
 */
export const TAINTED_BY = "talos-gpu/taints";

/** Value of the annotation. Without taints it is null, which removes the annotation. */
export function taintMark(taints: readonly NodeTaintState[]): string | null {
  const texts = taints.map(
    ({ key, value, effect }) => `${key}${value ? `=${value}` : ""}:${effect}`,
  );
  return texts.length === 0 ? null : texts.join();
}

/** Taints that the annotation names; empty without an annotation. Skips texts that are not taints. */
export const markedTaints = (mark: string | undefined): NodeTaintState[] =>
  (mark ?? "").split(",").flatMap((text) => {
    const [, key, value, effect] = /^([^=:]+)(?:=([^=:]*))?:([^=:]+)$/.exec(text) ?? [];
    return key === undefined || effect === undefined
      ? []
      : [{ key, ...(value ? { value } : {}), effect }];
  });
