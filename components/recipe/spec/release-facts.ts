/**
 * Images that this package itself runs on GPU nodes. Name others to use a mirror. The registry was not asked for the default tags:
 * this package asks no registry.
 */
export interface ImagesSpec {
  /**
   * Image of the DaemonSet that writes the operator's readiness files. It needs sh, cmp and cp. The registry was not asked for the default tag.
   * @default `busybox:1.37` by its digest
   * @example `registry.example.org/busybox:1.37`
   */
  validationMarkers?: string;
  /**
   * Image of the DaemonSet that sets power limits. It needs bash, awk and glibc. The registry was not asked for the default tag.
   * @default `ubuntu:24.04` by its digest
   * @example `registry.example.org/ubuntu:24.04`
   */
  powerLimit?: string;
  /**
   * Image of the DCGM exporter with the device plugin. The registry was not asked for the default tag.
   * @default `nvcr.io/nvidia/k8s/dcgm-exporter` with the tag of GPU Operator v26.3.3
   * @example `registry.example.org/dcgm-exporter:4.5.3-4.8.2-distroless`
   */
  dcgmExporter?: string;
}

/**
 * Drivers, toolkit and extensions of a Talos release that the tables lack. The stacks' program asks the Image Factory
 * for them once per preview; a program of your own gets them by `GpuCluster.withFacts`. If no Factory can be reached,
 * set them in the stack.
 */
export interface ReleaseFactsSpec {
  /**
   * Talos release that these facts describe. They have an effect only if the stack, a machine or a pool has this release.
   * @example `v1.14.7`
   */
  talosVersion: string;
  /**
   * Driver of the branch `lts`.
   * @default unknown
   * @example `580.178.04`
   */
  lts?: string;
  /**
   * Driver of the branch `production`.
   * @default unknown
   * @example `595.91.07`
   */
  production?: string;
  /**
   * Driver of the branch `new-feature`.
   * @default there is none
   * @example `615.71.10`
   */
  newFeature?: string;
  /**
   * NVIDIA container toolkit.
   * @default unknown
   * @example `1.19.1`
   */
  toolkit?: string;
  /**
   * Names of its official extensions.
   * @default unknown
   * @example `[siderolabs/iscsi-tools]`
   */
  extensions?: string[];
  /**
   * The Factory has no such release.
   * @default `false`
   * @example `true`
   */
  missing?: boolean;
  /**
   * Why the Factory gave no answer; drivers are assumed then.
   * @default it answered
   * @example `connect ECONNREFUSED`
   */
  silent?: string;
}
