import type { NodeTaintState } from "../task";

/** Taints of a node. */
export interface NodeTaints {
  taints: NodeTaintState[];
  /** Taints that the node's annotation names as this program's, whether or not the node has them. */
  ours: NodeTaintState[];
}

/**
 * Annotation of a node that names the taints which this program has put there, as kubectl writes them, joined by
 * commas. It is written together with the taints: the last run's answer alone does not name those of a run whose
 * answer was lost.
 */
export const TAINTED_BY = "talos-gpu/taints";

/** Value of the annotation; null, which takes it away, where there are none. */
export function taintMark(taints: readonly NodeTaintState[]): string | null {
  const texts = taints.map(
    ({ key, value, effect }) => `${key}${value ? `=${value}` : ""}:${effect}`,
  );
  return texts.length === 0 ? null : texts.join();
}

/** Taints that the annotation names; none where there is no annotation. Texts that are no taints are left out. */
export const markedTaints = (mark: string | undefined): NodeTaintState[] =>
  (mark ?? "").split(",").flatMap((text) => {
    const [, key, value, effect] = /^([^=:]+)(?:=([^=:]*))?:([^=:]+)$/.exec(text) ?? [];
    return key === undefined || effect === undefined
      ? []
      : [{ key, ...(value ? { value } : {}), effect }];
  });
