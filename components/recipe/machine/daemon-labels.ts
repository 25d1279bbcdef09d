import { gpuProviderOf } from "../facts/gpu-provider";
import type { ClusterSpec, MachineSpec } from "../spec/index";
import type { GpuProviderName } from "../types";

/**
 * Labels by which the DaemonSets of this package find the stack's own machines. The operator's label `nvidia.com/gpu.present` is on
 * every machine with a card, also one that is in no stack and has no driver: a DaemonSet's update would wait for a pod there
 * that never gets ready.
 */
export const daemonLabel = {
  validationMarkers: "talos-gpu/validation-markers",
  dcgmExporter: "talos-gpu/dcgm-exporter",
  powerLimit: "talos-gpu/power-limit",
} as const;

/** The value of `daemonLabel.powerLimit`. */
export const powerLimitLabel = (watts: number): string => `${watts}w`;

/** Those of a GPU machine. A label, not the machines' names: a machine that comes or goes then changes no DaemonSet. */
export const daemonLabels = (
  { powerLimit }: MachineSpec,
  { markers, mode, spec }: { markers: boolean; mode: GpuProviderName; spec: ClusterSpec },
): Record<string, string> => ({
  ...(markers ? { [daemonLabel.validationMarkers]: "true" } : {}),
  // The operator brings an exporter of its own.
  ...(!gpuProviderOf(mode).findsNodes && spec.monitoring
    ? { [daemonLabel.dcgmExporter]: "true" }
    : {}),
  ...(powerLimit === undefined ? {} : { [daemonLabel.powerLimit]: powerLimitLabel(powerLimit) }),
});
