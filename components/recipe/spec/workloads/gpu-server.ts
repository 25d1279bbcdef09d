/** What says which GPUs a workload requests. */
export interface GpuRequestSpec {
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
}

/** What every server that computes on a GPU says. */
export interface GpuServerSpec {
  /**
   * Whether it runs. `false` keeps it, with no replicas, so that several workloads can take turns on one card.
   * @default `true`
   * @example `false`
   */
  active?: boolean;
  /**
   * StorageClass of the volume. Kubernetes cannot change it later, so the preview refuses another value: the volume and its
   * data would be lost.
   * @default the cluster's
   * @example `local-path`
   */
  storageClass?: string;
}
