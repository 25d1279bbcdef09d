/** ComfyUI: a server that makes images. */
export interface ComfyUiSpec {
  /**
   * Whether it runs. `false` keeps it, with no replicas, so that several workloads can take turns on one card.
   * @default `true`
   * @example `false`
   */
  active?: boolean;
  /**
   * Container image. Nobody has verified that the registry has the default tag.
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
   * StorageClass of the volume. Kubernetes cannot change it later, so the preview refuses another value: the volume and its
   * data would be lost.
   * @default the cluster's
   * @example `local-path`
   */
  storageClass?: string;
  /**
   * GPUs that it requests.
   * @default `1`
   * @example `2`
   */
  gpus?: number;
  /**
   * Labels of the machines that it may run on, such as `labels` of a machine. A volume that belongs to a machine, as one of a local
   * path does, keeps it there.
   * @default any GPU machine
   * @example `{ card: large }`
   */
  nodeSelector?: Record<string, string>;
  /**
   * With mixed MIG, the profile of the devices that it requests.
   * @default whole cards where a machine offers some, else the smallest devices
   * @example `1g.12gb`
   */
  migProfile?: string;
  /**
   * Namespace, which the workload makes. No other workload may make the same one.
   * @default `comfyui`
   * @example `team-images`
   */
  namespace?: string;
}
