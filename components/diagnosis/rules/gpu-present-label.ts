import type { Observations } from "../observations";
import type { Rule } from "./rule";
import type { System } from "./system";

/** The device plugin's DaemonSet wants no pods, and a GPU node lacks the label that it asks for. */
export const gpuPresentLabel: Rule = { fix: "gpuPresentLabel", sign: pluginWantsNoPods, causes: [] };

function pluginWantsNoPods(seen: Observations, system: System): string[] {
  if (system.mode !== "devicePlugin") return [];
  const idle = (seen.daemonSets ?? []).filter(
    ({ namespace, name, desired }) =>
      namespace === system.namespace && name.includes("device-plugin") && !name.includes("mps") && desired === 0,
  );
  const unlabelled = system.gpuMachines.flatMap((machine) => {
    const node = seen.nodes?.find((candidate) => candidate.name === machine.name);
    const missing =
      node &&
      Object.entries(system.nodeSelector).filter(
        ([key, value]) => key.startsWith("nvidia.com/") && node.labels[key] !== value,
      );
    return missing && missing.length > 0
      ? [`node ${machine.name} lacks ${missing.map(([key, value]) => `${key}=${value}`).join(", ")}`]
      : [];
  });
  if (idle.length === 0 || unlabelled.length === 0) return [];
  return [...idle.map((daemonSet) => `DaemonSet/${daemonSet.name} wants 0 pods`), ...unlabelled];
}
