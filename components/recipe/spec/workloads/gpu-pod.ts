import type { GpuRequestSpec } from "./gpu-server";

/** A pod of the user's own that requests GPUs. */
export interface GpuPodSpec extends GpuRequestSpec {
  /**
   * Image.
   * @example `nvcr.io/nvidia/cuda:12.5.0-base-ubuntu22.04`
   */
  image: string;
  /**
   * Command.
   * @default the image's
   * @example `[nvidia-smi]`
   */
  command?: string[];
  /**
   * Arguments of the command.
   * @default the image's
   * @example `[--list-gpus]`
   */
  args?: string[];
  /**
   * Environment variables. `NVIDIA_VISIBLE_DEVICES` is refused: it would override the card that the device plugin assigns.
   * @default none
   * @example `{ HF_HOME: /models }`
   */
  env?: Record<string, string>;
  /**
   * Namespace, which a cluster makes if it is the default; another one must exist.
   * @default `gpu-pods`
   * @example `ai`
   */
  namespace?: string;
  /**
   * Further limits.
   * @default none
   * @example `{ cpu: "1", memory: 1Gi }`
   */
  limits?: Record<string, string>;
  /**
   * Run as user 65534 with a read-only root file system, which also meets Pod Security `restricted`. Many images do not
   * work with it: they need root, or write to their own file system.
   * @default `false`
   * @example `true`
   */
  restricted?: boolean;
}
