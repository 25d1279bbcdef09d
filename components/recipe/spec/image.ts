/** An overlay of the Image Factory: the parts that a board needs in addition to Talos, such as its boot loader. */
export interface OverlaySpec {
  /**
   * Image of the overlay.
   * @example `siderolabs/sbc-rockchip`
   */
  image: string;
  /**
   * Name of the overlay in the image.
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
   * Boot loader of a new installation: `none`, `dual-boot`, `sd-boot` or `grub`. An installed machine keeps its boot
   * loader.
   * @default Talos' default
   * @example `sd-boot`
   * @causes a new image, and with it one reboot of the machine
   */
  bootloader?: string;
  /**
   * Secure Boot keys that the machine enrolls at its first boot.
   * @default none
   * @example `{ includeWellKnownCertificates: true }`
   */
  secureboot?: SecureBootKeysSpec;
}

/** Secure Boot keys that a machine enrolls at its first boot. */
export interface SecureBootKeysSpec {
  /**
   * How the keys are enrolled at the first boot (systemd-boot's `secure-boot-enroll`).
   * @default Talos' default
   * @example `force`
   * @causes a new image, and with it one reboot of the machine
   */
  enrollKeys?: string;
  /**
   * Whether Microsoft's certificates are among the enrolled keys.
   * @default `false`
   * @example `true`
   * @causes a new image, and with it one reboot of the machine
   */
  includeWellKnownCertificates?: boolean;
}

/**
 * Parts of the machine's image that an update may remove. If an update would remove a part that is not listed here, the
 * update stops before it drains the machine.
 */
export interface DropSpec {
  /**
   * Extensions that the next image may lack.
   * @default none
   * @example `[siderolabs/iscsi-tools]`
   */
  extensions?: string[];
  /**
   * Kernel arguments that the next image may lack, written as the machine has them.
   * @default none
   * @example `[intel_iommu=on]`
   */
  kernelArgs?: string[];
  /**
   * Whether the next image may lack the overlay.
   * @default `false`
   * @example `true`
   */
  overlay?: boolean;
  /**
   * Whether the machine may change from its current platform to the stack's `platform`.
   * @default `false`
   * @example `true`
   */
  platform?: boolean;
  /**
   * Whether the next image may lack the machine configuration that the current image embeds. A stack cannot embed a
   * configuration.
   * @default `false`
   * @example `true`
   */
  embeddedMachineConfiguration?: boolean;
}
