/** An overlay of the Image Factory: what a board needs in addition to Talos, such as its boot loader. */
export interface OverlaySpec {
  /**
   * Image of the overlay.
   * @example `siderolabs/sbc-rockchip`
   */
  image: string;
  /**
   * Name of the overlay in it.
   * @example `turingrk1`
   */
  name: string;
  /**
   * Options of the overlay.
   * @default none
   * @example `{ configTxt: "gpu_mem=128" }`
   */
  options?: Record<string, any>;
}

/** Parts of an Image Factory schematic other than extensions, kernel arguments and overlay. */
export interface CustomizationSpec {
  /**
   * Boot loader of an installation: `none`, `dual-boot`, `sd-boot` or `grub`. An installed machine keeps the one that it has.
   * @default Talos' own
   * @example `sd-boot`
   * @causes a new image, and with it one reboot of the machine
   */
  bootloader?: string;
  /**
   * Keys of Secure Boot.
   * @default none
   * @example `{ includeWellKnownCertificates: true }`
   */
  secureboot?: SecureBootKeysSpec;
}

/** Secure Boot keys that a machine enrolls at its first boot. */
export interface SecureBootKeysSpec {
  /**
   * How the keys are enrolled at the first boot (systemd-boot's `secure-boot-enroll`).
   * @default Talos' own
   * @example `force`
   * @causes a new image, and with it one reboot of the machine
   */
  enrollKeys?: string;
  /**
   * Whether Microsoft's certificates are among them.
   * @default `false`
   * @example `true`
   * @causes a new image, and with it one reboot of the machine
   */
  includeWellKnownCertificates?: boolean;
}

/**
 * Parts of the machine's image that an update may take away. An update that would take away anything else that the stack does
 * not list ends before it drains the machine.
 */
export interface DropSpec {
  /**
   * Extensions.
   * @default none
   * @example `[siderolabs/iscsi-tools]`
   */
  extensions?: string[];
  /**
   * Kernel arguments as the machine has them.
   * @default none
   * @example `[intel_iommu=on]`
   */
  kernelArgs?: string[];
  /**
   * The overlay.
   * @default `false`
   * @example `true`
   */
  overlay?: boolean;
  /**
   * The platform: the machine gets the stack's instead.
   * @default `false`
   * @example `true`
   */
  platform?: boolean;
  /**
   * The machine configuration that is embedded in the image. A stack has no field for one.
   * @default `false`
   * @example `true`
   */
  embeddedMachineConfiguration?: boolean;
}
