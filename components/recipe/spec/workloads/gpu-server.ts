import type { GpuArchitecture } from "../gpu";

/** Conditions that each card of a claim must satisfy, or the name of your own claim or claim template. */
export interface ClaimSpec {
  /**
   * Minimum memory of the card. A card has a little less memory than its name says: a card of 80 GB satisfies `70Gi`.
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
   * Name of your own ResourceClaim, in the workload's namespace. You may set no other field of `claim` with it. Pods
   * that use the same ResourceClaim share its cards.
   * @default none: Kubernetes creates a claim for each pod
   * @example `shared-card`
   */
  resourceClaimName?: string;
  /**
   * Name of your own ResourceClaimTemplate, in the workload's namespace. You may set no other field of `claim` with it.
   * Kubernetes creates a claim from it for each pod.
   * @default none: the stack creates a template
   * @example `mig-slice`
   */
  resourceClaimTemplateName?: string;
}

/** The GPUs that a workload requests. */
export interface GpuRequestSpec {
  /**
   * Number of GPUs that a pod requests. With your own claim, write the number of GPUs that the claim allocates.
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
   * @default whole cards if a machine has unsplit ones, else the smallest MIG devices
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
   * Whether the server runs. With `false`, the server's objects and volume stay, but the server has no replicas.
   * Several servers can thus take turns on one card.
   * @default `true`
   * @example `false`
   */
  active?: boolean;
  /**
   * Other namespaces whose pods may reach the server. Pods of the server's namespace and the stack's LiteLLM may always
   * reach it. `[]` allows no other namespace. The stack makes a NetworkPolicy, which has an effect only if the
   * cluster's network plugin enforces such policies.
   * @default every namespace, without a NetworkPolicy
   * @example `[open-webui]`
   */
  allowFrom?: string[];
  /**
   * StorageClass of the server's volume. Kubernetes cannot change the class of an existing volume. A change
   * would lose the volume and its data, so the preview refuses it.
   * @default the cluster's default StorageClass
   * @example `local-path`
   */
  storageClass?: string;
}
