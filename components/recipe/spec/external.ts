/**
 * The chart that a tool outside of the stack installs: NVIDIA's GPU Operator, the standalone device plugin, or
 * NVIDIA's driver for dynamic resource allocation.
 */
export const ExternalKind = {
  gpuOperator: "gpuOperator",
  devicePlugin: "devicePlugin",
  dra: "dra",
} as const;
/** One of the values of `ExternalKind`. */
export type ExternalKind = (typeof ExternalKind)[keyof typeof ExternalKind];

/**
 * The GPU provider that Flux, Argo CD, helmfile or another tool installs. The stack neither creates nor changes the
 * objects of this GPU provider: no Helm release, no RuntimeClass, no namespace. The stack only checks the chart's values, and waits for the
 * GPUs. Exclusive with `gpuOperator`, `devicePlugin` and `dra`. A field here overrides the same setting in `files`.
 */
export interface ExternalSpec {
  /**
   * Chart that the other tool installs: `gpuOperator`, `devicePlugin` or `dra` (NVIDIA's driver for dynamic resource
   * allocation, with or without the operator). With `dra`, pods get cards by claims.
   * @default the chart in `files`
   * @example `devicePlugin`
   */
  kind?: ExternalKind;
  /**
   * Paths of the files from which the other tool installs the chart, relative to the stack file. List Flux' HelmRelease
   * with its OCIRepository or HelmRepository, or the Application of Argo CD. Also list the ConfigMaps and values files
   * to which these files refer. You may also list only a values file. Each file must be a regular file of at most 1
   * MiB. It must lie in the Git repository of the stack file, or in the Pulumi project if there is no repository. The
   * package's program for stack files (`stack()`) and the command `talos-gpu` read the files. In your own program, call
   * `GpuCluster.withFacts`, which reads them.
   * @default none
   * @example `[../flux/gpu-operator/helmrelease.yaml, ../flux/gpu-operator/ocirepository.yaml]`
   */
  files?: string[];
  /**
   * Release of the installed chart. The package checks the chart's values against this release.
   * @default the release in `files`; without a release the values are not checked
   * @example `v26.3.3`
   */
  version?: string;
  /**
   * Namespace in which the chart is installed.
   * @default the namespace in `files`, else `gpu-operator`, `nvidia-device-plugin` or `dra-driver-nvidia-gpu`
   * @example `kube-system`
   */
  namespace?: string;
  /**
   * RuntimeClass of the pods that need a GPU: the smoke test and the workloads. Write `""` if pods need no
   * RuntimeClass. They need none if NVIDIA's runtime is containerd's default runtime, or if CDI adds the cards to pods.
   * @default `nvidia`; with `dra`, none
   * @example `""`
   */
  runtimeClassName?: string;
  /**
   * Name of the resource that pods request for a GPU. With `dra`, name of the DeviceClass of their claims.
   * @default `nvidia.com/gpu`; with `dra`, `gpu.nvidia.com`
   * @example `nvidia.com/gpu.shared`
   */
  resourceName?: string;
  /**
   * Chart values of the installation. The package merges them over those in `files`.
   * @default the values in `files`
   * @example `{ driver: { enabled: false }, toolkit: { enabled: false } }`
   */
  values?: Record<string, any>;
  /**
   * Content of `files`, for a program in a language other than TypeScript. A TypeScript program gets it from
   * `GpuCluster.withFacts`.
   * @default the content that the package reads from `files`
   * @example `{ kind: gpuOperator, version: v26.3.3 }`
   */
  read?: ExternalReadSpec;
}

/** Facts about an external GPU provider, as read from its files. */
export interface ExternalReadSpec {
  /**
   * Chart that the files install.
   * @default unknown
   * @example `gpuOperator`
   */
  kind?: ExternalKind;
  /**
   * Name of the tool that installs the chart, for messages.
   * @default unknown
   * @example `Flux`
   */
  by?: string;
  /**
   * Name of the Helm release.
   * @default the name of the chart
   * @example `gpu-operator`
   */
  name?: string;
  /**
   * Release of the chart that the files install.
   * @default unknown
   * @example `v26.3.3`
   */
  version?: string;
  /**
   * Namespace of the Helm release.
   * @default unknown
   * @example `gpu-operator`
   */
  namespace?: string;
  /**
   * Chart values in the files.
   * @default none
   * @example `{ driver: { enabled: false } }`
   */
  values?: Record<string, any>;
  /**
   * File and line of each chart value. The key is the path of the value.
   * @default none
   * @example `{ driver.enabled: "helmrelease.yaml:23" }`
   */
  places?: Record<string, string>;
  /**
   * Files that could not be read, each with the reason. A stack with such a file is refused.
   * @default none
   * @example `["helmrelease.yaml cannot be read (ENOENT)"]`
   */
  unread?: string[];
  /**
   * Objects and values files to which `files` refer, and which are missing among `files`. The package does not know
   * their content.
   * @default none
   * @example `[{ kind: "ConfigMap", name: "gpu-operator-values" }]`
   */
  missing?: ExternalMissingSpec[];
}

/** An object or values file to which `files` refer, and which is missing among `files`. */
export interface ExternalMissingSpec {
  /**
   * Kind of the missing object, or `values file`.
   * @example `OCIRepository`
   */
  kind: string;
  /**
   * Name of the missing object or file.
   * @example `gpu-operator-values`
   */
  name: string;
}
