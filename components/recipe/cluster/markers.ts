import type { ClusterSpec } from "../spec/index";
import type { Injection, Marker, GpuProviderName } from "../types";
import { valueAt } from "../mapping";

/**
 * Content that the operator's validator writes into `driver-ready` if the driver is installed on the host. The
 * operator's other pods read environment variables from this file. Source: gpu-operator, cmd/nvidia-validator,
 * createStatusFile; assets/state-device-plugin/0400_configmap.yaml.
 */
const driverReady = [
  "IS_HOST_DRIVER=true",
  "NVIDIA_DRIVER_ROOT=/",
  "DRIVER_ROOT_CTR_PATH=/host",
  "NVIDIA_DEV_ROOT=/",
  "DEV_ROOT_CTR_PATH=/host",
  "",
].join("\n");

/**
 * Whether the stack, and not the operator's validator, must write the marker files. On Talos ≤ 1.12 the validator looks
 * forever for the driver in the wrong folder (gpu-operator#1687).
 */
export const needsMarkers = (injection: Injection, mode: GpuProviderName): boolean =>
  injection === "legacy" && mode === "operator";

/** The marker files under `/run/nvidia/validations`. */
export function markersOf(spec: ClusterSpec): Marker[] {
  // The operator reads `.driver-ctr-ready` only if it runs a driver DaemonSet, which only a user can enable
  // (isDriverManagedByOperator).
  const operatorDriver = valueAt(spec.gpuOperator?.values, "driver", "enabled") === true;
  return [
    { file: "driver-ready", content: driverReady },
    { file: "toolkit-ready", content: "" },
    ...(operatorDriver ? [{ file: ".driver-ctr-ready", content: "" }] : []),
  ];
}
