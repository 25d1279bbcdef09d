import type { GpuArchitecture } from "../gpu";

/** Conditions that each card of the claim must meet; or the name of a claim of your own. */
export interface ClaimSpec {
  /**
   * Least memory of the card. Cards have a little less than their name says: `70Gi` fits one of 80 GB.
   * @default any
   * @example `40Gi`
   */
  memory?: string;
  /**
   * Architecture.
   * @default any
   * @example `Hopper`
   */
  architecture?: GpuArchitecture;
  /**
   * Name as `nvidia-smi -L` prints it.
   * @default any
   * @example `NVIDIA H100 80GB HBM3`
   */
  product?: string;
  /**
   * Further conditions in CEL, of attributes that the driver publishes (docs/use.md#claims).
   * @default none
   * @example `["device.attributes['gpu.nvidia.com'].cudaComputeCapability.isGreaterThan(semver('8.9.0'))"]`
   */
  cel?: string[];
  /**
   * Name of a ResourceClaim of your own, in the workload's namespace. It excludes all other fields of `claim`. Pods that name the
   * same one share its cards.
   * @default a claim is made for each pod
   * @example `shared-card`
   */
  resourceClaimName?: string;
  /**
   * Name of a ResourceClaimTemplate of your own, in the workload's namespace. It excludes all other fields of `claim`.
   * Kubernetes makes a claim from it for each pod.
   * @default a template is made
   * @example `mig-slice`
   */
  resourceClaimTemplateName?: string;
}

/** What says which GPUs a workload requests. */
export interface GpuRequestSpec {
  /**
   * Number of GPUs that a pod requests. With a claim of your own: the number that the claim allocates.
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
   * Conditions on each card, in a stack with `dra`, where pods claim cards.
   * @default any card
   * @example `{ memory: 40Gi, architecture: Hopper }`
   */
  claim?: ClaimSpec;
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
   * Namespaces whose pods may reach it; those of its own namespace always may, and so may LiteLLM of the stack. `[]`: no others. It
   * makes a NetworkPolicy, which has an effect only where the cluster's network plugin enforces such policies.
   * @default none: every pod of the cluster may reach it
   * @example `[open-webui]`
   */
  allowFrom?: string[];
  /**
   * StorageClass of the volume. Kubernetes cannot change it later, so the preview refuses another value: the volume and its
   * data would be lost.
   * @default the cluster's
   * @example `local-path`
   */
  storageClass?: string;
}
