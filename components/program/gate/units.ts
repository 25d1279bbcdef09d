import type { V1Container, V1Pod } from "@kubernetes/client-node";
import type { NodeState } from "../cluster/cluster";

/** Number of units (cards, slices or MIG devices) of a GPU resource on a node, and the pods that use them. */
export interface Units {
  /** Number of units that the node offers; undefined if the node does not list the resource. */
  allocatable: number | undefined;
  users: { pod: V1Pod; units: number }[];
}

/**
 * The units of a node. Pods that have ended use none.
 *
 * @param claimed number of devices that each pod holds through ResourceClaims, by pod UID.
 */
export function unitsOf(
  resource: string,
  node: NodeState | undefined,
  pods: V1Pod[],
  claimed: Record<string, number> = {},
): Units {
  const offered = node?.allocatable[resource];
  return {
    allocatable: offered === undefined ? undefined : Number(offered),
    users: pods
      .filter(({ status }) => status?.phase !== "Succeeded" && status?.phase !== "Failed")
      .map((pod) => ({ pod, units: claimed[pod.metadata?.uid ?? ""] ?? requested(pod, resource) }))
      .filter(({ units }) => units > 0),
  };
}

/**
 * Whether running pods use all units. Then no test can get a unit, and the running pods show that the machine gives its
 * cards to pods. A pod that does not run does not show this.
 */
export function allInUse({ allocatable, users }: Units): boolean {
  if (allocatable === undefined || allocatable === 0) return false;
  const usedUnits = users.reduce((sum, { units }) => sum + units, 0);
  return usedUnits >= allocatable && users.every(({ pod }) => pod.status?.phase === "Running");
}

/** The pods that use units, e.g. `default/train (2), default/chat (1)`. */
export const namesOf = (users: Units["users"]): string =>
  users
    .map(({ pod: { metadata }, units }) => {
      const { namespace = "", name = "" } = metadata ?? {};
      return `${namespace}/${name} (${units})`;
    })
    .join(", ");

/**
 * Number of units that a pod requests. The pod's containers reuse the devices of its init containers, so the larger
 * number counts.
 */
function requested({ spec }: V1Pod, resource: string): number {
  const unitsIn = ({ resources }: V1Container): number =>
    Number(resources?.limits?.[resource] ?? 0);
  const together = (spec?.containers ?? []).reduce((sum, container) => sum + unitsIn(container), 0);
  return Math.max(together, ...(spec?.initContainers ?? []).map(unitsIn));
}
