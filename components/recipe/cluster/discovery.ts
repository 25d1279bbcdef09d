import { withControlPlane } from "../machine/taints";
import type { DevicePluginSpec, GpuOperatorSpec, MachineSpec } from "../spec/index";
import type { ChartInput, Ground } from "./values";
import { anyText, defined, valueAt } from "../mapping";

/**
 * Chart values that let Node Feature Discovery run on machines with taints. The worker runs on each machine. The master
 * writes the labels, and removes them when the release is removed. Master and garbage collector (`gc`) run on any
 * machine; by default they tolerate at most the taint of control planes (node-feature-discovery v0.15 to v0.19,
 * deployment/helm, values.yaml). Without these values, master and collector stay Pending if every node has a taint. The
 * removal of the release then waits for the hook that removes the labels. Charts before 0.18 ignore the update strategy.
 */
export function discoveryValues({
  tolerations: machines,
  updateStrategy,
}: Pick<Ground, "tolerations" | "updateStrategy">): ChartInput {
  const tolerations = withControlPlane(machines);
  return {
    worker: { tolerations, ...defined({ updateStrategy }) },
    master: { tolerations },
    gc: { tolerations },
  };
}

/**
 * Whether the device plugin's chart installs Node Feature Discovery: true, if the value `nfd.enabled` or `gfd.enabled`
 * is true (Chart.yaml, `condition`).
 */
export const pluginDiscovers = ({ values }: DevicePluginSpec): boolean =>
  ["nfd", "gfd"].some((part) => anyText(valueAt(values, part, "enabled")) === "true");

/**
 * Whether the operator's chart installs Node Feature Discovery: true, unless the value `nfd.enabled` is false
 * (Chart.yaml, `condition`).
 */
export const operatorDiscovers = ({ values }: GpuOperatorSpec): boolean =>
  anyText(valueAt(values, "nfd", "enabled")) !== "false";

/**
 * Labels by which the operator recognizes a GPU node; one of them is enough (gpu-operator v26.7.0,
 * controllers/state_manager.go, gpuNodeLabels).
 */
const featureLabel = /^feature\.node\.kubernetes\.io\/pci-(10de|0302_10de|0300_10de)\.present$/;

/** Whether the stack sets such a label (`featureLabel`) on every machine with a card. */
export const labelledByHand = (machines: Pick<MachineSpec, "labels" | "gpus">[]): boolean =>
  machines
    .filter(({ gpus = [] }) => gpus.length > 0)
    .every(({ labels = {} }) =>
      Object.entries(labels).some(([key, value]) => featureLabel.test(key) && value === "true"),
    );
