import type { NodeState } from "./cluster";

/**
 * Annotation of a node that this program cordoned. Its value lists the schematics that updates were about to install,
 * separated by commas, the newest first. A node that a user cordoned lacks this annotation, and this program never
 * uncordons such a node.
 */
export const CORDONED_BY = "talos-gpu/cordoned-by";

/**
 * Annotation of a node that Talos cordoned. Talos up to 1.12 cordons a node in an upgrade, and uncordons the node
 * seconds after the boot (seen on v1.11.5; node_apply.go).
 */
export const CORDONED_BY_TALOS = "talos.dev/cordoned";

/** Schematics that unfinished updates were about to install; empty for a node without the annotation `CORDONED_BY`. */
export const bringsOf = (node: NodeState | undefined): string[] =>
  node?.annotations[CORDONED_BY]?.split(",") ?? [];

/** Whether this program has cordoned the node. */
export const isCordonedByUs = (node: NodeState | undefined): boolean =>
  node !== undefined && node.unschedulable && node.annotations[CORDONED_BY] !== undefined;

/**
 * Command with which a user uncordons a node after an update that is not continued. `kubectl uncordon` alone leaves the
 * annotation, because it patches only `spec.unschedulable` (kubectl, pkg/drain/cordon.go). This program would then
 * mistake a user's next cordon for its own.
 */
export const uncordonCommand = (node: string): string =>
  `kubectl uncordon ${node} && kubectl annotate node ${node} ${CORDONED_BY}-`;
