/** How MIG devices appear: `single` as `nvidia.com/gpu`, `mixed` as `nvidia.com/mig-<profile>`. */
export const MigStrategy = { single: "single", mixed: "mixed" } as const;
export type MigStrategy = (typeof MigStrategy)[keyof typeof MigStrategy];

/** GPU sharing by time slicing. */
export interface TimeSlicingSpec {
  /** Replicas per card, at least 2. */
  replicas: number;
  /** Offer the slices as `nvidia.com/gpu.shared`. Default false. */
  renameByDefault?: boolean;
}

/** GPU sharing by MPS. */
export interface MpsSpec {
  /** Replicas per card, at least 2. */
  replicas: number;
}

/** Partitioning by MIG. */
export interface MigSpec {
  strategy: MigStrategy;
  /** Profile of every card, e.g. `1g.12gb`, or `all-balanced`, `all-disabled`. */
  profile: string;
}

/** Sharing or partitioning of the cards; at most one. Default none. */
export interface SharingSpec {
  timeSlicing?: TimeSlicingSpec;
  mps?: MpsSpec;
  mig?: MigSpec;
}
