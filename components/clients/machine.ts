/** Where a machine keeps an installer: on its disk, or in memory, until its next boot, which Talos 1.13 and newer can. */
export type InstallerPlace = "disk" | "memory";

/** When a call is ended before its limit; it then fails as one that got no answer. */
export interface Ending {
  /** Milliseconds between two looks at it. */
  every: number;
  /** Whether it ends now. */
  ends: () => Promise<boolean>;
}

/**
 * `lifecycle` is LifecycleService.Upgrade of Talos 1.13 and newer; `legacy` is MachineService.Upgrade, which Talos 1.12 and
 * older have. Range: talos v1.13.0 cmd/talosctl/cmd/talos/upgrade.go.
 */
export type UpgradeApi = "lifecycle" | "legacy";

/** Texts of the machine's configuration; more than one YAML document each. */
export interface Configurations {
  /** The one that is in effect (resource `v1alpha1`). */
  active?: string;
  /** The one on disk, in effect after the next boot (resource `persistent`). Differs from `active` when staged. */
  persistent?: string;
}
