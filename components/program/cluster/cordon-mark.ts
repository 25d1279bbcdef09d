import type { NodeState } from "./cluster";

/**
 * Annotation of a node that this program cordoned. Its value lists the schematics that updates were about to install,
 * separated by commas, the newest first. A node that another user cordoned lacks it, and this program never uncordons
 * such a node.
 */
export const CORDONED_BY = "talos-gpu/cordoned-by";

/**
 * Annotation of a node that Talos cordoned. Up to 1.12 Talos does so in an upgrade, and uncordons the node seconds
 * after the boot (seen on v1.11.5; node_apply.go).
 */
export const CORDONED_BY_TALOS = "talos.dev/cordoned";

/** Schematics that unfinished updates were about to install; empty for a node without the mark. */
export const bringsOf = (node: NodeState | undefined): string[] =>
  node?.annotations[CORDONED_BY]?.split(",") ?? [];

/** Whether this program has cordoned the node. */
export const isCordonedByUs = (node: NodeState | undefined): boolean =>
  node !== undefined && node.unschedulable && node.annotations[CORDONED_BY] !== undefined;

/**
 * Command that abandons an update. `kubectl uncordon` alone leaves the mark (it patches only `spec.unschedulable`:
 * kubectl, pkg/drain/cordon.go), and this program would then mistake a later cordon by a user for its own.
 */
export const uncordonCommand = (node: string): string =>
  `kubectl uncordon ${node} && kubectl annotate node ${node} ${CORDONED_BY}-`;
