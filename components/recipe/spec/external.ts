/** The chart that a tool outside of the stack installs: NVIDIA's GPU Operator, the standalone device plugin, or
NVIDIA's driver for dynamic resource allocation. */
export const ExternalKind = {
  gpuOperator: "gpuOperator",
  devicePlugin: "devicePlugin",
  dra: "dra",
} as const;
/** A kind, as text. */
export type ExternalKind = (typeof ExternalKind)[keyof typeof ExternalKind];

/**
 * The GPU provider that Flux, Argo CD, helmfile or another tool installs. The stack makes and touches nothing of it: no
 * Helm release, no RuntimeClass, no namespace. It checks the values, and waits for the GPUs. Exclusive with
 * `gpuOperator`, `devicePlugin` and `dra`. A field here overrides the files.
 */
export interface ExternalSpec {
  /**
   * The chart that is installed: `gpuOperator`, `devicePlugin` or `dra` (NVIDIA's driver for dynamic resource
   * allocation, with or without the operator). With `dra`, pods get cards by claims.
   * @default by the files
   * @example `devicePlugin`
   */
  kind?: ExternalKind;
  /**
   * Files that install it, as the tool has them: a HelmRelease of Flux with its OCIRepository or HelmRepository; an Application of Argo
   * CD; ConfigMaps and files of values that these name; or only a file of values. Their paths are relative to the stack file, and
   * lead to regular files of at most 1 MiB in the same repository. The program of the stacks, the command and `GpuCluster.withFacts` read
   * them.
   * @default none
   * @example `[../flux/gpu-operator/helmrelease.yaml, ../flux/gpu-operator/ocirepository.yaml]`
   */
  files?: string[];
  /**
   * Release of the chart, by which the values are checked.
   * @default by the files, else unknown: then the values are not checked
   * @example `v26.3.3`
   */
  version?: string;
  /**
   * Namespace of it.
   * @default by the files, else `gpu-operator`, `nvidia-device-plugin` or `dra-driver-nvidia-gpu`
   * @example `kube-system`
   */
  namespace?: string;
  /**
   * RuntimeClass of what needs a GPU, the smoke test and the workloads. Empty: none, where every container gets NVIDIA's
   * runtime or the cards come by CDI.
   * @default `nvidia`; with `dra`, none
   * @example `""`
   */
  runtimeClassName?: string;
  /**
   * Resource that it offers; with `dra`, class of the devices that pods claim.
   * @default `nvidia.com/gpu`; with `dra`, `gpu.nvidia.com`
   * @example `nvidia.com/gpu.shared`
   */
  resourceName?: string;
  /**
   * Values that it is installed with; merged over those of the files.
   * @default by the files
   * @example `{ driver: { enabled: false }, toolkit: { enabled: false } }`
   */
  values?: Record<string, any>;
  /**
   * What the files say. A program in another language than TypeScript may give it; else it is read from `files`.
   * @default by the files
   * @example `{ kind: gpuOperator, version: v26.3.3 }`
   */
  read?: ExternalReadSpec;
}

/** What the files of something outside say. */
export interface ExternalReadSpec {
  /**
   * What they install.
   * @default unknown
   * @example `gpuOperator`
   */
  kind?: ExternalKind;
  /**
   * Who installs it, for messages.
   * @default unknown
   * @example `Flux`
   */
  by?: string;
  /**
   * Name of the Helm release.
   * @default the chart's
   * @example `gpu-operator`
   */
  name?: string;
  /**
   * Release of the chart.
   * @default unknown
   * @example `v26.3.3`
   */
  version?: string;
  /**
   * Namespace of it.
   * @default unknown
   * @example `gpu-operator`
   */
  namespace?: string;
  /**
   * Its values.
   * @default none
   * @example `{ driver: { enabled: false } }`
   */
  values?: Record<string, any>;
  /**
   * File and line of each value, by its path.
   * @default none
   * @example `{ driver.enabled: "helmrelease.yaml:23" }`
   */
  places?: Record<string, string>;
  /**
   * Files that could not be read, each with its reason; each one refuses the stack.
   * @default none
   * @example `["helmrelease.yaml cannot be read (ENOENT)"]`
   */
  unread?: string[];
  /**
   * Objects and files that they name and that are not among them, so that their content is unknown.
   * @default none
   * @example `[{ kind: "ConfigMap", name: "gpu-operator-values" }]`
   */
  missing?: ExternalMissingSpec[];
}

/** Something that is named, and not among the files. */
export interface ExternalMissingSpec {
  /**
   * Its kind: that of an object, or `values file`.
   * @example `OCIRepository`
   */
  kind: string;
  /**
   * Its name.
   * @example `gpu-operator-values`
   */
  name: string;
}
