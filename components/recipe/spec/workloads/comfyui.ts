import type { GpuRequestSpec, GpuServerSpec } from "./gpu-server";

/** ComfyUI: a server that makes images. */
export interface ComfyUiSpec extends GpuRequestSpec, GpuServerSpec {
  /**
   * Image of the server's container. The package does not verify that the registry still has the default tag.
   * @default `yanwk/comfyui-boot` with a tag for the newest CUDA version that the driver runs
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
   * Namespace of the server. The stack creates it, so no other workload may create a namespace of this name.
   * @default `comfyui`
   * @example `team-images`
   */
  namespace?: string;
}
