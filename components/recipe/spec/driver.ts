/**
 * Branch of NVIDIA's driver, as named by Talos' extensions, e.g. `nvidia-open-gpu-kernel-modules-lts`. On Talos 1.12
 * `lts` is newer than `production`; `new-feature` exists from Talos 1.15 on.
 */
export const DriverBranch = {
  lts: "lts",
  production: "production",
  newFeature: "new-feature",
} as const;
/** A branch, as text. */
export type DriverBranch = (typeof DriverBranch)[keyof typeof DriverBranch];

/** Flavour of the kernel modules: `open` (for cards from Turing on; Blackwell cards need it) or `proprietary`. */
export const ModuleFlavour = { open: "open", proprietary: "proprietary" } as const;
/** A flavour, as text. */
export type ModuleFlavour = (typeof ModuleFlavour)[keyof typeof ModuleFlavour];

/** NVIDIA driver of the cluster. */
export interface DriverSpec {
  /**
   * Branch of the driver, as named by Talos' extensions, e.g. `nvidia-open-gpu-kernel-modules-lts`. On Talos 1.12 `lts`
   * is newer than `production`; `new-feature` exists from Talos 1.15 on, and only with open modules.
   * @default `production`, or `lts` if the card or the Talos release needs it
   * @example `lts`
   * @causes a new image, and with it one reboot of each GPU machine
   */
  branch?: DriverBranch;
  /**
   * Flavour of the kernel modules: `open` (for cards from Turing on; Blackwell cards need it) or `proprietary`.
   * @default `open` for a card from Turing on, `proprietary` for an older one
   * @example `proprietary`
   * @causes a new image, and with it one reboot of each GPU machine
   */
  flavour?: ModuleFlavour;
}
