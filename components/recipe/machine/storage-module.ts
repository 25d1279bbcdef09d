import { kernelModules } from "../facts/data/since.json";
import { valueAt } from "../mapping";
import { asRelease } from "../external/external";
import type { ClusterSpec } from "../spec/index";
import { parseTalosVersion } from "../facts/version";

/**
 * Name of the kernel module for GPUDirect Storage. The operator's validator waits until the module is loaded
 * (gpu-operator v26.7.0, cmd/nvidia-validator/main.go, NvidiaFs).
 */
export const storageModule = "nvidia_fs";

/** Whether NVIDIA's extensions of a Talos release contain the module for GPUDirect Storage. */
export const hasStorageModule = (talosVersion: string): boolean =>
  (parseTalosVersion(talosVersion)?.minor ?? 0) >= kernelModules.since[storageModule];

/** Whether the operator's values enable GPUDirect Storage. */
export const usesStorage = (spec: ClusterSpec): boolean =>
  valueAt(asRelease(spec).gpuOperator?.values, "gds", "enabled") === true;
