import type { Observations, ObservedNode } from "../observations";
import type { Evidence } from "../evidence";
import type { Rule } from "./rule";
import type { System } from "./system";

/**
 * The MIG manager's own word, or its silence. States: NVIDIA/mig-parted, pkg/mig/reconfigure (pending, rebooting, success,
 * failed). Silence counts only from a manager that runs: before, something else keeps it.
 */
export const migManager: Rule = { fix: "migManager", sign: notSplit, causes: [] };

const configLabel = "nvidia.com/mig.config";
const stateLabel = "nvidia.com/mig.config.state";

function notSplit(seen: Observations, system: System): Evidence[] {
  return (seen.nodes ?? []).flatMap((node) =>
    notSplitOn(node, seen, system).map((line) => ({ node: node.name, line })),
  );
}

function notSplitOn(node: ObservedNode, seen: Observations, system: System): string[] {
  const config = node.labels[configLabel];
  if (!config) return [];
  const state = node.labels[stateLabel];
  if (state === "failed") return [`node ${node.name}: ${stateLabel}=failed for ${config}`];
  return state === undefined && managerRuns(seen, node, system)
    ? [`node ${node.name}: the MIG manager runs and says nothing about ${config}: no ${stateLabel}`]
    : [];
}

function managerRuns(seen: Observations, node: ObservedNode, system: System): boolean {
  return (seen.pods ?? []).some(
    (pod) =>
      pod.namespace === system.namespace &&
      pod.name.startsWith("nvidia-mig-manager") &&
      pod.node === node.name &&
      (pod.containers ?? []).some(({ name, state }) => name === "nvidia-mig-manager" && state === "running"),
  );
}
