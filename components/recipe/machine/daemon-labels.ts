import { gpuProviderOf } from "../facts/gpu-provider";
import type { ClusterSpec, MachineSpec } from "../spec/index";
import type { GpuProviderName } from "../types";

/**
 * Labels by which the DaemonSets of this package find the stack's own machines. The operator's label
 * `nvidia.com/gpu.present` is on every machine with a card, also on a machine that is in no stack and has no driver. On
 * such a machine an update of a DaemonSet would wait forever for a pod.
 */
export const daemonLabel = {
  validationMarkers: "talos-gpu/validation-markers",
  dcgmExporter: "talos-gpu/dcgm-exporter",
  powerLimit: "talos-gpu/power-limit",
} as const;

/** Value of the label `daemonLabel.powerLimit`. */
export const powerLimitLabel = (watts: number): string => `${watts}w`;

/**
 * Daemon labels of a GPU machine. The DaemonSets select labels and not machine names, so that an added or removed
 * machine changes no DaemonSet.
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
