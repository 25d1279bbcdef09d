import type { NodeState } from "./cluster";

/**
 * Marks a node that this program cordoned: the schematics, joined by commas, that updates were about to bring, the newest first. A
 * node cordoned by anybody else does not have it, and is never uncordoned by us.
 */
export const CORDONED_BY = "talos-gpu/cordoned-by";

/** Mark of a node that Talos cordoned, as up to 1.12 it does in an upgrade; it uncordons it seconds after the boot (seen on v1.11.5; node_apply.go). */
export const CORDONED_BY_TALOS = "talos.dev/cordoned";

/** Schematics that updates which have not ended well were about to bring; none on a node without the mark. */
export const bringsOf = (node: NodeState | undefined): string[] =>
  node?.annotations[CORDONED_BY]?.split(",") ?? [];

/** Whether the node is cordoned, and by this program. */
export const isCordonedByUs = (node: NodeState | undefined): boolean =>
  node !== undefined && node.unschedulable && node.annotations[CORDONED_BY] !== undefined;

/**
 * Command that gives an update up. `kubectl uncordon` alone leaves the mark (it patches `spec.unschedulable` alone:
 * kubectl, pkg/drain/cordon.go), and a later cordon by another user would be taken for this program's.
 */
export const uncordonCommand = (node: string): string =>
  `kubectl uncordon ${node} && kubectl annotate node ${node} ${CORDONED_BY}-`;
