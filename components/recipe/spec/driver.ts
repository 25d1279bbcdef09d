/**
 * Branch of NVIDIA's driver, by its name in Talos' extensions. On Talos 1.12 `lts` is newer than `production`;
 * `new-feature` exists from Talos 1.15 on.
 */
export const DriverBranch = {
  lts: "lts",
  production: "production",
  newFeature: "new-feature",
} as const;
/** A branch, as text. */
export type DriverBranch = (typeof DriverBranch)[keyof typeof DriverBranch];

/** Flavour of the kernel modules: `open` (Turing and newer; the only one for Blackwell) or `proprietary`. */
export const ModuleFlavour = { open: "open", proprietary: "proprietary" } as const;
/** A flavour, as text. */
export type ModuleFlavour = (typeof ModuleFlavour)[keyof typeof ModuleFlavour];

/** NVIDIA driver of the cluster. */
export interface DriverSpec {
  /**
   * Branch of the driver, by its name in Talos' extensions. On Talos 1.12 `lts` is newer than `production`;
   * `new-feature` exists from Talos 1.15 on, and only with open modules.
   * @default `production`, or `lts` if the card or the Talos release needs it
   * @example `lts`
   * @causes a new image, and with it one reboot of each GPU machine
   */
  branch?: DriverBranch;
  /**
   * Flavour of the kernel modules: `open` (Turing and newer; the only one for Blackwell) or `proprietary`.
   * @default `open` for a card from Turing on, `proprietary` for an older one
   * @example `proprietary`
   * @causes a new image, and with it one reboot of each GPU machine
   */
  flavour?: ModuleFlavour;
}
