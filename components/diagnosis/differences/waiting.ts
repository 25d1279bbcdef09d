import type { Observations, ObservedNode, ObservedPod } from "../observations";
import { didYouMean } from "../../recipe/rules/suggest";
import { difference, type Difference } from "./difference";

/** Pods that request GPUs which no node of the cluster can ever offer. */
export const waitingForGpus = (observations: Observations): Difference[] =>
  waiting(observations).flatMap((pod) =>
    difference(`Pod ${pod.namespace}/${pod.name}`, whyUnschedulable(pod, observations.nodes ?? [])),
  );

/**
 * One sentence for each pending pod that waits for GPUs although some node could offer them, e.g. because other pods
 * use the GPUs.
 */
export const waitingForUnits = (observations: Observations): string[] =>
  waiting(observations)
    .filter((pod) => whyUnschedulable(pod, observations.nodes ?? []) === undefined)
    .map(
      (pod) =>
        `Pod ${pod.namespace}/${pod.name} is Pending, and requests ${requestText(pod)}: it waits for free GPUs, or for a node that meets its other conditions (\`kubectl -n ${pod.namespace} describe pod ${pod.name}\`)`,
    );

const waiting = ({ pods = [], nodes = [] }: Observations): ObservedPod[] =>
  nodes.length === 0
    ? []
    : pods.filter(
        ({ phase, node, requests = {} }) =>
          phase === "Pending" && node === undefined && Object.keys(requests).length > 0,
      );

const requestText = ({ requests = {} }: ObservedPod): string =>
  Object.entries(requests)
    .map(([resource, count]) => `${count} of ${resource}`)
    .join(" and ");

/** Why no node can ever offer the GPU resource units that a pod requests; undefined if some node might offer them. */
function whyUnschedulable(
  { requests = {} }: ObservedPod,
  nodes: readonly ObservedNode[],
): string | undefined {
  const offeredUnits = nodes.flatMap(({ allocatable = {} }) => Object.entries(allocatable));
  for (const [resource, count] of Object.entries(requests)) {
    const greatestOffer = Math.max(
      0,
      ...offeredUnits.filter(([name]) => name === resource).map(([, units]) => Number(units)),
    );
    if (greatestOffer >= count) continue;
    if (greatestOffer > 0)
      return `stays Pending: it requests ${count} of ${resource}, but no node offers more than ${greatestOffer}; lower the pod's limit`;
    const otherResources = [
      ...new Set(
        offeredUnits
          .filter(([name, units]) => isGpuResource(name) && units !== "0")
          .map(([name]) => name),
      ),
    ];
    if (otherResources.length === 0)
      return `is Pending: it requests ${resource}, which no node offers`;
    return `stays Pending: it requests ${resource}, which no node offers; ${didYouMean(resource, otherResources)}the nodes offer ${otherResources.join(", ")}`;
  }
  return undefined;
}

const isGpuResource = (name: string): boolean => name.startsWith("nvidia.com/");
