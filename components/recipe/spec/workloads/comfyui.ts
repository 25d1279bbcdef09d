import type { GpuRequestSpec, GpuServerSpec } from "./gpu-server";

/** ComfyUI: a server that makes images. */
export interface ComfyUiSpec extends GpuRequestSpec, GpuServerSpec {
  /**
   * Container image. The registry was not asked for the default tag.
   * @default `yanwk/comfyui-boot` for the driver's CUDA
   * @example `yanwk/comfyui-boot:cu128-slim`
   */
  image?: string;
  /**
   * Size of the volume for models and outputs.
   * @default `50Gi`
   * @example `200Gi`
   */
  storage?: string;
  /**
   * Namespace, which the workload makes. No other workload may make the same one.
   * @default `comfyui`
   * @example `team-images`
   */
  namespace?: string;
}
