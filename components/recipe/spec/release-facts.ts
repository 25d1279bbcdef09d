/**
 * Images of the package's own DaemonSets on GPU nodes. Set them to use a mirror. The package does not verify that the
 * registries still have the default images.
 */
export interface ImagesSpec {
  /**
   * Image of the DaemonSet that writes the operator's readiness files. It must contain `sh`, `cmp` and `cp`. The
   * package does not verify that the registry still has the default image.
   * @default `busybox:1.37` by its digest
   * @example `registry.example.org/busybox:1.37`
   */
  validationMarkers?: string;
  /**
   * Image of the DaemonSet that sets power limits. It must contain `bash`, `awk` and glibc. The package does not
   * verify that the registry still has the default image.
   * @default `ubuntu:24.04` by its digest
   * @example `registry.example.org/ubuntu:24.04`
   */
  powerLimit?: string;
  /**
   * Image of the DCGM exporter, which the stack installs for `monitoring` unless the GPU provider is the operator.
   * The package does not verify that the registry still has the default image.
   * @default `nvcr.io/nvidia/k8s/dcgm-exporter` with the tag and digest of GPU Operator v26.3.3
   * @example `registry.example.org/dcgm-exporter:4.5.3-4.8.2-distroless`
   */
  dcgmExporter?: string;
}

/**
 * Drivers, toolkit and extensions of a Talos release that the package's tables lack. The package's program for stack
 * files asks the Image Factory for them once per preview. In your own program, `GpuCluster.withFacts` asks the Image
 * Factory. If no Image Factory can be reached, set these facts in the stack.
 */
export interface ReleaseFactsSpec {
  /**
   * Talos release that these facts describe. The facts have an effect only if the stack, a machine or a pool has this
   * `talosVersion`.
   * @example `v1.14.7`
   */
  talosVersion: string;
  /**
   * Version of the driver on the branch `lts`.
   * @default unknown
   * @example `580.178.04`
   */
  lts?: string;
  /**
   * Version of the driver on the branch `production`.
   * @default unknown
   * @example `595.91.07`
   */
  production?: string;
  /**
   * Version of the driver on the branch `new-feature`.
   * @default none
   * @example `615.71.10`
   */
  newFeature?: string;
  /**
   * Version of the NVIDIA container toolkit.
   * @default unknown
   * @example `1.19.1`
   */
  toolkit?: string;
  /**
   * Names of the official extensions of this Talos release.
   * @default unknown
   * @example `[siderolabs/iscsi-tools]`
   */
  extensions?: string[];
  /**
   * Whether the Image Factory lacks this Talos release.
   * @default `false`
   * @example `true`
   */
  missing?: boolean;
  /**
   * Reason why the Image Factory did not answer. The package then assumes the versions of the drivers.
   * @default none: the Factory answered
   * @example `connect ECONNREFUSED`
   */
  silent?: string;
}
