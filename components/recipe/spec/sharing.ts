/** How MIG devices appear: `single` as `nvidia.com/gpu`, `mixed` as `nvidia.com/mig-<profile>`. */
export const MigStrategy = { single: "single", mixed: "mixed" } as const;
/** A strategy, as text. */
export type MigStrategy = (typeof MigStrategy)[keyof typeof MigStrategy];

/** GPU sharing by replicas. */
export interface ReplicasSpec {
  /**
   * Replicas per card, at least 2.
   * @example `4`
   */
  replicas: number;
}

/** GPU sharing by time slicing. */
export interface TimeSlicingSpec extends ReplicasSpec {
  /**
   * Offer the slices as `nvidia.com/gpu.shared`.
   * @default `false`
   * @example `true`
   */
  renameByDefault?: boolean;
  /**
   * Refuse a pod that requests more than one slice. Two slices give no more of a card than one, and may be on different
   * cards. `false` allows such pods.
   * @default `true`
   * @example `false`
   */
  failRequestsGreaterThanOne?: boolean;
}

/** Partitioning by MIG. */
export interface MigSpec {
  /**
   * How the devices appear: `single` as `nvidia.com/gpu`, `mixed` as `nvidia.com/mig-<profile>`.
   * @example `single`
   */
  strategy: MigStrategy;
  /**
   * Profile of every card, or `all-balanced`, `all-disabled`.
   * @example `1g.12gb`
   */
  profile: string;
}

/** Sharing or partitioning of the cards; at most one. */
export interface SharingSpec {
  /**
   * Replicas that take turns on a card.
   * @default none
   * @example `{ replicas: 4 }`
   */
  timeSlicing?: TimeSlicingSpec;
  /**
   * Not supported: on Talos, NVIDIA's MPS does not find its server program with any release of the device plugin that we know
   * (docs/upstream/mps-server-path.md). The preview refuses it.
   * @default none
   * @example `{ replicas: 4 }`
   */
  mps?: ReplicasSpec;
  /**
   * Devices that a card is split into.
   * @default none
   * @example `{ strategy: single, profile: 1g.12gb }`
   */
  mig?: MigSpec;
}
