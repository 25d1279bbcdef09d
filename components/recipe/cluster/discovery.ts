import { withControlPlane } from "../machine/taints";
import type { DevicePluginSpec, GpuOperatorSpec, MachineSpec } from "../spec/index";
import type { PodToleration } from "../types";
import type { ChartInput } from "./values";
import { anyText, valueAt } from "../mapping";

/**
 * Chart values that let Node Feature Discovery run on machines with taints. Its worker runs on each machine. Its master
 * writes the labels, and removes them with the release. Master and collector run on any machine, and their charts
 * tolerate at most a control plane's taint (node-feature-discovery v0.15 to v0.19, deployment/helm, values.yaml). If
 * every node has a taint, master and collector would stay pending, and Helm would wait for the hook that removes the
 * labels.
 */
export function discoveryTolerations(machines: PodToleration[]): ChartInput {
  const tolerations = withControlPlane(machines);
  return { worker: { tolerations }, master: { tolerations }, gc: { tolerations } };
}

/** Whether the device plugin's chart brings Node Feature Discovery, for itself or for GPU feature discovery (its Chart.yaml, `condition`). */
export const pluginDiscovers = ({ values }: DevicePluginSpec): boolean =>
  ["nfd", "gfd"].some((part) => anyText(valueAt(values, part, "enabled")) === "true");

/**
 * Whether the operator's chart brings Node Feature Discovery: yes, unless a value disables it (its Chart.yaml,
 * `condition`).
 */
export const operatorDiscovers = ({ values }: GpuOperatorSpec): boolean =>
  anyText(valueAt(values, "nfd", "enabled")) !== "false";

/**
 * Labels of GPU nodes. One of them is enough for the operator to find the node (gpu-operator v26.7.0,
 * controllers/state_manager.go, gpuNodeLabels).
 */
const featureLabel = /^feature\.node\.kubernetes\.io\/pci-(10de|0302_10de|0300_10de)\.present$/;

/** Whether the stack sets one of these labels on every machine with a card. */
export const labelledByHand = (machines: Pick<MachineSpec, "labels" | "gpus">[]): boolean =>
  machines
    .filter(({ gpus = [] }) => gpus.length > 0)
    .every(({ labels = {} }) =>
      Object.entries(labels).some(([key, value]) => featureLabel.test(key) && value === "true"),
    );
