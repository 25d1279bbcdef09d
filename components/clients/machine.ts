/** Where a machine keeps an installer image: on its disk, or in memory until its next boot (Talos 1.13 and newer). */
export type InstallerPlace = "disk" | "memory";

/** Where a machine keeps an image. `pods` is the place for images of pods, including static pods. */
export type ImagePlace = InstallerPlace | "pods";

/** Condition that ends a call before its limit; the call then fails like one without an answer. */
export interface Ending {
  /** Milliseconds between two checks. */
  every: number;
  /** Whether the call must end now. */
  ends: () => Promise<boolean>;
}

/**
 * `lifecycle` is LifecycleService.Upgrade of Talos 1.13 and newer; `legacy` is MachineService.Upgrade, which Talos 1.12
 * and older have. Source: talos v1.13.0 cmd/talosctl/cmd/talos/upgrade.go.
 */
export type UpgradeApi = "lifecycle" | "legacy";

/** Two texts of a machine's configuration. Each may have several YAML documents. */
export interface Configurations {
  /** The active configuration (resource `v1alpha1`). */
  active?: string;
  /**
   * The configuration on disk, which is active after the next boot (resource `persistent`). This text differs from
   * `active` if a configuration is staged.
   */
  persistent?: string;
}
