import { gpuProviders } from "../../recipe/facts/gpu-provider";
import type { Plan } from "../../recipe/types";
import type { Observations, ObservedNode } from "../observations";
import { showsGpu, systemOf } from "../system";
import { difference, type Difference, inOneLine, lastWords } from "./difference";
import { exposureDifferences, unreadyOfNvidia } from "./exposure";
import { machineDifferences } from "./machines";
import { isGpu, nodeDifferences, readiness } from "./nodes";
import { waitingForGpus } from "./waiting";
import { workloadDifferences } from "./workloads";

export { type Difference, inOneLine } from "./difference";

/**
 * Differences between the observations and the plan, in the order machines, nodes, GPU provider, workloads. Without a
 * plan: differences from a working GPU cluster. Pure. Objects that were not observed are skipped, so an empty list does
 * not prove that they are right.
 */
export function differences(observations: Observations, plan?: Plan): Difference[] {
  if (plan === undefined) return withoutPlan(observations);
  const areas = [machineDifferences, nodeDifferences, exposureDifferences, workloadDifferences];
  const allDifferences = [
    ...areas.flatMap((area) => area(plan, observations)),
    ...waitingForGpus(observations),
  ];
  // Two areas report a workload in the release's namespace.
  return [...new Map(allDifferences.map((item) => [inOneLine(item), item])).values()];
}

const noGpuNode =
  "no node has a GPU: no node has NVIDIA's extensions, Node Feature Discovery's label for a card, or a resource nvidia.com/…";
const nothingOffers =
  "has no GPU Operator, no device plugin of NVIDIA and no DRA driver, so pods cannot request GPUs";

/**
 * Differences from what every GPU cluster needs: a node with a card, GPUs that this node offers, and a working GPU
 * provider. For a cluster without a plan.
 */
function withoutPlan(observations: Observations): Difference[] {
  if (observations.nodes === undefined) return [];
  const nodes = observations.nodes.filter(showsGpu);
  const { namespace, mode } = systemOf(observations);
  const isListed = observations.daemonSets !== undefined && observations.pods !== undefined;
  return [
    ...difference("cluster", nodes.length === 0 && noGpuNode),
    ...difference("cluster", isListed && mode === undefined && nothingOffers),
    ...nodes.flatMap((node) => gpuNode(node, observations, namespace)),
    ...missingRuntimeClasses(observations),
    ...waitingForGpus(observations),
    ...(namespace === undefined ? [] : unreadyOfNvidia(observations, namespace)),
  ];
}

/** Whether a DaemonSet of this name offers GPUs to Kubernetes, like the device plugin. */
const offersGpuUnits = (name: string): boolean =>
  Object.values(gpuProviders).some(({ offers }) => offers.pods.test(name));

function gpuNode(
  node: ObservedNode,
  observations: Observations,
  namespace: string | undefined,
): Difference[] {
  const offersGpus = Object.entries(node.allocatable ?? {}).some(
    ([resource, count]) => isGpu(resource) && count !== "0",
  );
  const plugin = (observations.daemonSets ?? []).find(
    (set) => set.namespace === namespace && offersGpuUnits(set.name),
  );
  const words = plugin && lastWords(observations, "DaemonSet", plugin.namespace, plugin.name);
  const problem =
    !offersGpus &&
    !node.devicesUnseen &&
    "has a GPU, but pods cannot request it: the node has no resource nvidia.com/… and no device of the DeviceClass gpu.nvidia.com";
  return [...readiness(node), ...difference(`node ${node.name}`, problem, words)];
}

/** RuntimeClasses that pods name and that do not exist. Such a pod keeps running, but its replacement cannot start. */
function missingRuntimeClasses({ pods = [], runtimeClasses }: Observations): Difference[] {
  if (runtimeClasses === undefined) return [];
  const handlerNames = pods
    .flatMap(({ runtimeClass }) => runtimeClass ?? [])
    .filter((name) => /nvidia/.test(name));
  return [...new Set(handlerNames)]
    .filter((name) => !runtimeClasses.some((existing) => existing.name === name))
    .flatMap((name) => difference(`RuntimeClass ${name}`, "does not exist, but pods use it"));
}
