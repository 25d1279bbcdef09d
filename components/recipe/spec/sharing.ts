/**
 * Resource by which pods request MIG devices: `nvidia.com/gpu` with `single`, `nvidia.com/mig-<profile>` with `mixed`.
 */
export const MigStrategy = { single: "single", mixed: "mixed" } as const;
/** A strategy, as text. */
export type MigStrategy = (typeof MigStrategy)[keyof typeof MigStrategy];

/** GPU sharing: each card counts as several slices. */
export interface ReplicasSpec {
  /**
   * Number of slices per card, at least 2. Each slice serves the request of one pod.
   * @example `4`
   */
  replicas: number;
}

/** GPU sharing by time slicing. */
export interface TimeSlicingSpec extends ReplicasSpec {
  /**
   * Whether pods request slices as `nvidia.com/gpu.shared` instead of `nvidia.com/gpu`.
   * @default `false`
   * @example `true`
   */
  renameByDefault?: boolean;
  /**
   * Whether the device plugin refuses a pod that requests more than one slice. A pod with two slices gets no more
   * of a card than a pod with one slice. Its two slices may be on different cards.
   * @default `true`
   * @example `false`
   */
  failRequestsGreaterThanOne?: boolean;
}

/** Partitioning by MIG. */
export interface MigSpec {
  /**
   * Resource by which pods request MIG devices: `nvidia.com/gpu` with `single`, `nvidia.com/mig-<profile>` with
   * `mixed`.
   * @example `single`
   */
  strategy: MigStrategy;
  /**
   * MIG profile of the devices into which each card is split. `all-balanced` splits a card into devices of several
   * sizes, and `all-disabled` splits no card.
   * @example `1g.12gb`
   */
  profile: string;
}

/** Sharing or partitioning of the cards; at most one kind. */
export interface SharingSpec {
  /**
   * Time slicing: each card counts as several slices. A pod requests one slice, and pods take turns on the card.
   * @default none
   * @example `{ replicas: 4 }`
   */
  timeSlicing?: TimeSlicingSpec;
  /**
   * NVIDIA's MPS, which is not supported: the preview refuses it. On Talos, MPS cannot find its server program with any
   * known release of the device plugin (docs/upstream/mps-server-path.md).
   * @default none
   * @example `{ replicas: 4 }`
   */
  mps?: ReplicasSpec;
  /**
   * MIG: each card is split into several devices.
   * @default none
   * @example `{ strategy: single, profile: 1g.12gb }`
   */
  mig?: MigSpec;
}
