import { showsGpu, systemOf } from "../rules/system";
import type { Observations, ObservedNode } from "../observations";
import { difference, type Difference } from "./difference";
import { unreadyOfNvidia } from "./exposure";
import { lastWords } from "./last-words";
import { isGpu } from "./nodes";

/** What every cluster with GPUs must show, where no plan is known: a GPU node, GPUs on it, and what offers them at work. */
export function unlikeWorking(seen: Observations): Difference[] {
  if (seen.nodes === undefined) return [];
  const nodes = seen.nodes.filter(showsGpu);
  const { namespace, mode } = systemOf(seen);
  const isListed = seen.daemonSets !== undefined && seen.pods !== undefined;
  return [
    ...(nodes.length === 0 ? [difference("cluster", noGpuNode)] : []),
    ...(isListed && mode === undefined
      ? [
          difference(
            "cluster",
            "neither the GPU Operator nor NVIDIA's device plugin is installed, so nothing offers GPUs",
          ),
        ]
      : []),
    ...nodes.flatMap((node) => unlikeGpuNode(node, seen, namespace)),
    ...missingRuntimeClasses(seen),
    ...(namespace === undefined ? [] : unreadyOfNvidia(seen, namespace)),
  ];
}

const noGpuNode =
  "no node has a GPU: none has NVIDIA's extensions, a label of Node Feature Discovery's for a card, or a resource nvidia.com/…";

function unlikeGpuNode(node: ObservedNode, seen: Observations, namespace: string | undefined): Difference[] {
  const about = `node ${node.name}`;
  const offers = Object.entries(node.allocatable ?? {}).some(([resource, count]) => isGpu(resource) && count !== "0");
  const plugin = (seen.daemonSets ?? []).find((set) => set.namespace === namespace && /device-plugin/.test(set.name));
  const words = plugin === undefined ? [] : lastWords(seen, "DaemonSet", plugin.namespace, plugin.name);
  return [
    ...(node.ready === false
      ? [difference(about, "is not ready", node.notReady === undefined ? [] : [node.notReady])]
      : []),
    ...(node.unschedulable ? [difference(about, "is cordoned, so no new pod goes there")] : []),
    ...(offers ? [] : [difference(about, "has a GPU, and offers none: no resource nvidia.com/…", words)]),
  ];
}

/** RuntimeClasses that pods name, and that are gone: such pods run on until they are to be replaced. */
function missingRuntimeClasses({ pods = [], runtimeClasses }: Observations): Difference[] {
  if (runtimeClasses === undefined) return [];
  const named = pods.flatMap(({ runtimeClass }) => runtimeClass ?? []).filter((name) => /nvidia/.test(name));
  return [...new Set(named)]
    .filter((name) => !runtimeClasses.some((known) => known.name === name))
    .map((name) => difference(`RuntimeClass ${name}`, "is not there, and pods name it"));
}
