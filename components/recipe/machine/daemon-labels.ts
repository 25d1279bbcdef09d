import { gpuProviderOf } from "../facts/gpu-provider";
import type { ClusterSpec, MachineSpec } from "../spec/index";
import type { GpuProviderName } from "../types";

/**
 * Labels by which the DaemonSets of this package find the stack's own machines. The operator's label
 * `nvidia.com/gpu.present` is on every node with a card, also on a node that is in no stack and has no driver. A pod
 * would never become ready there, so an update of the DaemonSet would never complete.
 */
export const daemonLabel = {
  validationMarkers: "talos-gpu/validation-markers",
  dcgmExporter: "talos-gpu/dcgm-exporter",
  powerLimit: "talos-gpu/power-limit",
} as const;

/** Value of the label `daemonLabel.powerLimit`. */
export const powerLimitLabel = (watts: number): string => `${watts}w`;

/**
 * Labels of a GPU machine that the package's DaemonSets select. The DaemonSets select labels and not machine names, so
 * that an added or removed machine changes no DaemonSet.
 */
export const daemonLabels = (
  { powerLimit }: MachineSpec,
  { markers, mode, spec }: { markers: boolean; mode: GpuProviderName; spec: ClusterSpec },
): Record<string, string> => ({
  ...(markers ? { [daemonLabel.validationMarkers]: "true" } : {}),
  // The operator installs its own exporter.
  ...(!gpuProviderOf(mode).findsNodes && spec.monitoring
    ? { [daemonLabel.dcgmExporter]: "true" }
    : {}),
  ...(powerLimit === undefined ? {} : { [daemonLabel.powerLimit]: powerLimitLabel(powerLimit) }),
});
