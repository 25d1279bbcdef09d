import type { GpuRequestSpec } from "./gpu-server";

/** A pod that the user defines, and that requests GPUs. */
export interface GpuPodSpec extends GpuRequestSpec {
  /**
   * Image of the container.
   * @example `nvcr.io/nvidia/cuda:12.5.0-base-ubuntu22.04`
   */
  image: string;
  /**
   * Command of the container.
   * @default the image's command
   * @example `[nvidia-smi]`
   */
  command?: string[];
  /**
   * Arguments of the command.
   * @default the image's arguments
   * @example `[--list-gpus]`
   */
  args?: string[];
  /**
   * Environment variables of the container. `NVIDIA_VISIBLE_DEVICES` is refused: it would override the card that the
   * device plugin assigns.
   * @default none
   * @example `{ HF_HOME: /models }`
   */
  env?: Record<string, string>;
  /**
   * Namespace of the pod. A namespace that you set must already exist. Without this field, a GpuCluster creates the
   * default namespace.
   * @default `gpu-pods`
   * @example `ai`
   */
  namespace?: string;
  /**
   * Limits of the container in addition to its GPUs, by resource.
   * @default none
   * @example `{ cpu: "1", memory: 1Gi }`
   */
  limits?: Record<string, string>;
  /**
   * Whether the container runs as user 65534 with a read-only root file system. The pod then satisfies Pod Security
   * `restricted`. Many images do not run this way: they need root, or write to their own file system.
   * @default `false`
   * @example `true`
   */
  restricted?: boolean;
}
