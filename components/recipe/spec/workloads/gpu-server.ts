import type { GpuArchitecture } from "../gpu";

/** Conditions that each card of a claim must meet, or the name of a claim of your own. */
export interface ClaimSpec {
  /**
   * Least memory of the card. A card has a little less than its name says: a card of 80 GB meets `70Gi`.
   * @default any
   * @example `40Gi`
   */
  memory?: string;
  /**
   * Architecture of the card.
   * @default any
   * @example `Hopper`
   */
  architecture?: GpuArchitecture;
  /**
   * Name of the card as `nvidia-smi -L` prints it.
   * @default any
   * @example `NVIDIA H100 80GB HBM3`
   */
  product?: string;
  /**
   * Further conditions as CEL expressions over the attributes that NVIDIA's DRA driver publishes (docs/use.md#claims).
   * @default none
   * @example `["device.attributes['gpu.nvidia.com'].cudaComputeCapability.isGreaterThan(semver('8.9.0'))"]`
   */
  cel?: string[];
  /**
   * Name of a ResourceClaim of your own, in the workload's namespace. It excludes all other fields of `claim`. Pods
   * that name one ResourceClaim share its cards.
   * @default none: Kubernetes makes a claim for each pod
   * @example `shared-card`
   */
  resourceClaimName?: string;
  /**
   * Name of a ResourceClaimTemplate of your own, in the workload's namespace. It excludes all other fields of `claim`.
   * Kubernetes makes a claim from it for each pod.
   * @default none: the stack makes a template
   * @example `mig-slice`
   */
  resourceClaimTemplateName?: string;
}

/** The GPUs that a workload requests. */
export interface GpuRequestSpec {
  /**
   * Number of GPUs that a pod requests. With a claim of your own: the number that the claim allocates.
   * @default `1`
   * @example `2`
   */
  gpus?: number;
  /**
   * Labels that a node must have for the workload's pods, e.g. the `labels` of a machine. A volume on a machine's own
   * disk, e.g. of the StorageClass `local-path`, keeps the workload on that machine.
   * @default any GPU machine
   * @example `{ card: large }`
   */
  nodeSelector?: Record<string, string>;
  /**
   * Profile of the MIG devices that the workload requests, with the MIG strategy `mixed`.
   * @default whole cards if a machine offers some, else the smallest devices
   * @example `1g.12gb`
   */
  migProfile?: string;
  /**
   * Conditions on each card that the workload claims, in a stack with `dra`.
   * @default any card
   * @example `{ memory: 40Gi, architecture: Hopper }`
   */
  claim?: ClaimSpec;
}

/** Fields of every server that computes on a GPU. */
export interface GpuServerSpec {
  /**
   * Whether the server runs. `false` keeps its objects and volume, with no replicas: so several servers can take
   * turns on one card.
   * @default `true`
   * @example `false`
   */
  active?: boolean;
  /**
   * Other namespaces whose pods may reach the server. Pods of its own namespace always may, and so may the stack's
   * LiteLLM. `[]` allows no other namespace. The stack makes a NetworkPolicy, which has an effect only if the
   * cluster's network plugin enforces such policies.
   * @default every namespace, without a NetworkPolicy
   * @example `[open-webui]`
   */
  allowFrom?: string[];
  /**
   * StorageClass of the server's volume. Kubernetes cannot change it later, so the preview refuses a change: the
   * volume and its data would be lost.
   * @default the cluster's default StorageClass
   * @example `local-path`
   */
  storageClass?: string;
}
