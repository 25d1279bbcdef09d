import type { ClusterSpec } from "../spec/index";
import type { Injection, Marker, GpuProviderName } from "../types";
import { valueAt } from "../mapping";

/**
 * Content that the operator's validator writes into `driver-ready` for a driver of the host; its operands read the
 * file as environment. Source: gpu-operator, cmd/nvidia-validator, createStatusFile;
 * assets/state-device-plugin/0400_configmap.yaml.
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
 * Whether the stack's marker files replace the operator's validator: on Talos ≤ 1.12 the validator forever looks for
 * the driver in the wrong folder (gpu-operator#1687).
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
