import { leaderWorkerSet } from "../../recipe/facts/gpu-provider";
import { type PlannedServer, plannedServers } from "../../recipe/stack/workloads";
import type { Plan } from "../../recipe/types";
import type { Observations } from "../observations";
import { difference, type Difference, wordsOfPod } from "./difference";
import { isWell, unready } from "./exposure";

/** Workloads of the plan that are missing or not ready. */
export function workloadDifferences(plan: Plan, observations: Observations): Difference[] {
  return [...servers(plan, observations), ...pods(plan, observations)];
}

function servers({ spec }: Plan, observations: Observations): Difference[] {
  const { deployments } = observations;
  if (deployments === undefined) return [];
  return plannedServers(spec).flatMap(({ name, namespace, active, group }) => {
    if (!active) return [];
    if (group) return groupDifferences(namespace, group, observations);
    const about = `Deployment ${namespace}/${name}`;
    const existing = deployments.find(
      (candidate) => candidate.namespace === namespace && candidate.name === name,
    );
    if (existing === undefined) return difference(about, "is not there");
    return existing.desired === 0
      ? difference(about, "is scaled to 0")
      : unready(observations, "Deployment", existing);
  });
}

/**
 * Difference of a LeaderWorkerSet that has too few ready pods. A label of the pods contains the LeaderWorkerSet's name.
 */
function groupDifferences(
  namespace: string,
  group: NonNullable<PlannedServer["group"]>,
  { pods = [] }: Observations,
): Difference[] {
  const { name, machines } = group;
  const groupPods = pods.filter(
    (pod) => pod.namespace === namespace && pod.labels?.[leaderWorkerSet.set] === name,
  );
  const wellCount = groupPods.filter(isWell).length;
  const problem = wellCount < machines && `not ready: ${wellCount} of ${machines} pods`;
  return difference(`LeaderWorkerSet ${namespace}/${name}`, problem, groupPods.flatMap(wordsOfPod));
}

function pods({ spec }: Plan, { pods: observedPods }: Observations): Difference[] {
  if (observedPods === undefined) return [];
  return Object.entries(spec.workloads?.pods ?? {}).flatMap(([key, { namespace = "gpu-pods" }]) => {
    const name = key.toLowerCase().replace(/[^a-z0-9-]+/g, "-");
    const existing = observedPods.find((pod) => pod.namespace === namespace && pod.name === name);
    const problem = existing === undefined ? "is not there" : !isWell(existing) && "not ready";
    return difference(`Pod ${namespace}/${name}`, problem, existing && wordsOfPod(existing));
  });
}
