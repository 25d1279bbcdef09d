import { withControlPlane } from "../machine/taints";
import type { DevicePluginSpec, GpuOperatorSpec } from "../spec/index";
import type { PodToleration } from "../types";
import type { ChartInput } from "./values";
import { anyText, valueAt } from "../mapping";

/**
 * Node Feature Discovery on machines with taints. Its worker runs on each of them. Its master, which writes the labels and takes
 * them off when the release goes, and its collector run anywhere, and their charts tolerate a control plane's taint at most
 * (node-feature-discovery v0.15 to v0.19, deployment/helm, values.yaml): where each node has a taint they would stay pending, and
 * Helm would wait for the hook that takes the labels off.
 */
export function discoveryTolerations(machines: PodToleration[]): ChartInput {
  const tolerations = withControlPlane(machines);
  return { worker: { tolerations }, master: { tolerations }, gc: { tolerations } };
}

/** Whether the device plugin's chart brings Node Feature Discovery, for itself or for GPU feature discovery (its Chart.yaml, `condition`). */
export const pluginDiscovers = ({ values }: DevicePluginSpec): boolean =>
  ["nfd", "gfd"].some((part) => anyText(valueAt(values, part, "enabled")) === "true");

/** Whether the operator's chart brings it: unless it is said not to (its Chart.yaml, `condition`). */
export const operatorDiscovers = ({ values }: GpuOperatorSpec): boolean =>
  anyText(valueAt(values, "nfd", "enabled")) !== "false";
