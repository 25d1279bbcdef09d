import type { V1Container, V1Pod } from "@kubernetes/client-node";
import type { NodeState } from "../cluster/cluster";

/** Units of a GPU resource on a node, and who has them. */
export interface Units {
  /** Units that the node offers; undefined where the resource is unknown to it. */
  allocatable: number | undefined;
  users: { pod: V1Pod; units: number }[];
}

/**
 * The units of a node. Pods that have ended hold none.
 *
 * @param claimed units that pods have by claims, by their UID.
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
 * Whether pods that run have all units: no test can have one, and that they run shows that the machine gives its
 * cards to pods. A pod that is on the node and does not run shows nothing.
 */
export function allInUse({ allocatable, users }: Units): boolean {
  if (allocatable === undefined || allocatable === 0) return false;
  const taken = users.reduce((sum, { units }) => sum + units, 0);
  return taken >= allocatable && users.every(({ pod }) => pod.status?.phase === "Running");
}

/** The pods that have units, e.g. `default/train (2), default/chat (1)`. */
export const namesOf = (users: Units["users"]): string =>
  users
    .map(({ pod: { metadata }, units }) => {
      const { namespace = "", name = "" } = metadata ?? {};
      return `${namespace}/${name} (${units})`;
    })
    .join(", ");

/** Devices of init containers are used again by the containers, so the larger of both counts. */
function requested({ spec }: V1Pod, resource: string): number {
  const unitsIn = ({ resources }: V1Container): number =>
    Number(resources?.limits?.[resource] ?? 0);
  const together = (spec?.containers ?? []).reduce((sum, container) => sum + unitsIn(container), 0);
  return Math.max(together, ...(spec?.initContainers ?? []).map(unitsIn));
}
