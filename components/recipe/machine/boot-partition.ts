import type { FieldFinding } from "../rules/finding";

/**
 * The partition from which a machine's boot loader reads images: `EFI` with systemd-boot, `BOOT` with GRUB. An
 * installation of Talos before 1.11 makes `EFI` 1101 MiB and `BOOT` 1000 MiB large; newer releases make `EFI` 2101 MiB
 * and `BOOT` 2000 MiB large (talos v1.14.1, pkg/machinery/imager/quirks/partitions.go and quirks.go,
 * minTalosVersionBoot2G). Talos never changes the size of an existing partition.
 */
export interface BootPartition {
  name: "EFI" | "BOOT";
  bytes: number;
}

/** An image, with the size of the files that its installation writes to the boot partition. */
export interface BootImage {
  /** E.g. `v1.14.1`. */
  talosVersion: string;
  /** Least possible size in bytes; undefined if the size is unknown. */
  bytes: number | undefined;
}

/**
 * Finding about a boot partition that cannot hold a machine's images. An upgrade keeps the running image, deletes older
 * images, and writes the new image next to the running one; GRUB calls the two A and B (talos v1.14.1,
 * bootloader/sdboot/sdboot.go, Upgrade, and bootloader/grub/install.go). NVIDIA's extensions make images large, so a
 * boot partition that Talos before 1.11 made is too small for some images (siderolabs/talos#12551).
 *
 * @param machine node name.
 * @param images the running image, then each image that the update installs, in order.
 * @returns at most one finding, about the first image that does not fit. An image of unknown size counts as 0 bytes.
 */
export function withoutRoom(
  machine: string,
  partition: BootPartition,
  images: readonly BootImage[],
): FieldFinding[] {
  for (const [index, next] of images.slice(1).entries()) {
    const { talosVersion, bytes: keptBytes = 0 } = images[index]!;
    const { bytes: addedBytes } = next;
    if (addedBytes === undefined || keptBytes + addedBytes <= partition.bytes) continue;
    const imagesText =
      keptBytes === 0
        ? `the image of ${next.talosVersion} (${mebibytes(addedBytes)})`
        : `both the running image of ${talosVersion} (${mebibytes(keptBytes)}) and the new image of ${next.talosVersion} (${mebibytes(addedBytes)})`;
    return [
      {
        field: `machines.${machine}`,
        problem: `its boot partition ${partition.name} has ${mebibytes(partition.bytes)}, which cannot hold ${imagesText}`,
        why: "an upgrade writes the new image next to the running one, so it would fail after the drain. Talos never enlarges this partition, and made it smaller before 1.11",
        remedy: moreRoom,
      },
    ];
  }
  return [];
}

/** Remedy for a boot partition that is too small. */
export const moreRoom =
  "remove extensions from the machine, or wipe its disk with `talosctl reset` and install Talos 1.11 or newer, which makes a partition of 2 GiB";

const mebibytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;
