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
 * Where what is seen differs from the plan, from the machine up; without a plan, from any cluster that offers GPUs.
 * Pure. The comparison skips objects that nothing looked at, so an empty list covers only the others.
 */
export function differences(seen: Observations, plan?: Plan): Difference[] {
  if (plan === undefined) return withoutPlan(seen);
  const areas = [machineDifferences, nodeDifferences, exposureDifferences, workloadDifferences];
  const found = [...areas.flatMap((area) => area(plan, seen)), ...waitingForGpus(seen)];
  // A workload in the release's namespace is seen by two areas.
  return [...new Map(found.map((one) => [inOneLine(one), one])).values()];
}

const noGpuNode =
  "no node has a GPU: none has NVIDIA's extensions, a label of Node Feature Discovery's for a card, or a resource nvidia.com/…";
const nothingOffers =
  "none of the GPU Operator, NVIDIA's device plugin and its DRA driver is installed, so nothing offers GPUs";

/**
 * Requirements for every cluster with GPUs, if no plan is known: a GPU node, GPUs on it, and a working GPU provider.
 */
function withoutPlan(seen: Observations): Difference[] {
  if (seen.nodes === undefined) return [];
  const nodes = seen.nodes.filter(showsGpu);
  const { namespace, mode } = systemOf(seen);
  const isListed = seen.daemonSets !== undefined && seen.pods !== undefined;
  return [
    ...difference("cluster", nodes.length === 0 && noGpuNode),
    ...difference("cluster", isListed && mode === undefined && nothingOffers),
    ...nodes.flatMap((node) => gpuNode(node, seen, namespace)),
    ...missingRuntimeClasses(seen),
    ...waitingForGpus(seen),
    ...(namespace === undefined ? [] : unreadyOfNvidia(seen, namespace)),
  ];
}

/** Whether a DaemonSet offers the cards of its nodes. */
const offering = (name: string): boolean =>
  Object.values(gpuProviders).some(({ offers }) => offers.pods.test(name));

function gpuNode(
  node: ObservedNode,
  seen: Observations,
  namespace: string | undefined,
): Difference[] {
  const offers = Object.entries(node.allocatable ?? {}).some(
    ([resource, count]) => isGpu(resource) && count !== "0",
  );
  const plugin = (seen.daemonSets ?? []).find(
    (set) => set.namespace === namespace && offering(set.name),
  );
  const words = plugin && lastWords(seen, "DaemonSet", plugin.namespace, plugin.name);
  const problem =
    !offers &&
    !node.devicesUnseen &&
    "has a GPU, and offers none: neither a resource nvidia.com/… nor devices of gpu.nvidia.com for claims";
  return [...readiness(node), ...difference(`node ${node.name}`, problem, words)];
}

/** RuntimeClasses that pods name, and that are gone: such pods run on until they are to be replaced. */
function missingRuntimeClasses({ pods = [], runtimeClasses }: Observations): Difference[] {
  if (runtimeClasses === undefined) return [];
  const named = pods
    .flatMap(({ runtimeClass }) => runtimeClass ?? [])
    .filter((name) => /nvidia/.test(name));
  return [...new Set(named)]
    .filter((name) => !runtimeClasses.some((known) => known.name === name))
    .flatMap((name) => difference(`RuntimeClass ${name}`, "is not there, and pods name it"));
}
