import type { Observations, ObservedNode } from "../observations";
import type { Rule } from "./rule";
import type { System } from "./system";

/** What nobody places on a node waits for nothing else; and without markers' keeper and plugin the rest waits for them. */
export const nodeSelector: Rule = {
  fix: "nodeSelector",
  sign: selectorFitsNoNode,
  causes: ["validationMarkers", "operatorValidatorLabel", "gpuPresentLabel"],
};

/** Labels that Node Feature Discovery and NVIDIA's programs set when they come that far; their lack is another failure. */
const setLater = /(^|\.)nvidia\.com\/|^feature\.node\.kubernetes\.io\//;

function selectorFitsNoNode(seen: Observations, system: System): string[] {
  const nodes = seen.nodes ?? [];
  if (nodes.length === 0) return [];
  const daemonSets = (seen.daemonSets ?? []).filter(
    ({ namespace, name, labels, desired }) =>
      desired === 0 &&
      ((namespace === system.namespace && /nvidia|gpu|dcgm/.test(name)) ||
        labels?.["app.kubernetes.io/managed-by"] === "talos-gpu"),
  );
  const pods = (seen.pods ?? []).filter((pod) => pod.gpus && pod.phase === "Pending" && pod.node === undefined);
  return [
    ...daemonSets.flatMap((set) => lines(`DaemonSet/${set.name} wants 0 pods`, set.nodeSelector, nodes)),
    ...pods.flatMap((pod) => lines(`Pod/${pod.name} is Pending`, pod.nodeSelector, nodes)),
  ];
}

function lines(what: string, selector: Record<string, string> | undefined, nodes: ObservedNode[]): string[] {
  const unmet = Object.entries(selector ?? {}).filter(
    ([key, value]) => !setLater.test(key) && !nodes.some(({ labels }) => labels[key] === value),
  );
  return unmet.length === 0 ? [] : [`${what}: no node has ${unmet.map((pair) => pair.join("=")).join(", ")}`];
}
