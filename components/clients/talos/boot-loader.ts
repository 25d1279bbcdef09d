import type { BootPartition } from "../../recipe/machine/boot-partition";
import { valueAt } from "../../recipe/mapping";
import { isInstallation, valuesOf } from "./configuration-text";
import type { Resource } from "./talosctl-output";

/**
 * Whether a machine boots with GRUB: Talos' disk then has a partition BOOT. Talos itself finds GRUB by this partition
 * (talos v1.14.1, internal/app/machined/pkg/runtime/v1alpha1/bootloader, grub/probe.go; CleanupBootloader removes the
 * partition from a machine that boots with systemd-boot). `BOOT_IMAGE` on the kernel's command line proves nothing: it
 * is missing after a kexec, which is Talos' usual reboot (seen on Talos v1.13.0).
 *
 * @param volumes the machine's `discoveredvolumes`.
 */
export const bootsByGrub = (volumes: readonly Resource[]): boolean =>
  onTalosDisk(volumes, "BOOT") !== undefined;

/**
 * The partition from which the machine's boot loader reads images; undefined if Talos reports no size.
 *
 * @param volumes the machine's `discoveredvolumes`.
 */
export function bootPartitionOf(volumes: readonly Resource[]): BootPartition | undefined {
  const name = bootsByGrub(volumes) ? "BOOT" : "EFI";
  const bytes = Number(valueAt(onTalosDisk(volumes, name)?.spec, "size"));
  return bytes > 0 ? { name, bytes } : undefined;
}

/** The partition with a label on Talos' disk, or on any disk if the disk is unknown. */
function onTalosDisk(volumes: readonly Resource[], label: string): Resource | undefined {
  // Talos 1.8 writes partitionLabel, later releases partition_label (pkg/machinery/resources/block/discovered_volume.go).
  const labelOf = ({ spec }: Resource): unknown =>
    valueAt(spec, "partition_label") ?? valueAt(spec, "partitionLabel");
  const diskOf = ({ spec }: Resource): unknown => valueAt(spec, "parent");
  const ofTalos = volumes.filter((volume) => labelOf(volume) === "META").map(diskOf);
  return volumes.find(
    (volume) =>
      labelOf(volume) === label && (ofTalos.length === 0 || ofTalos.includes(diskOf(volume))),
  );
}

/**
 * Whether the boot loader uses the image's kernel arguments. GRUB uses the configuration's kernel arguments instead, if
 * the configuration has `machine.install` without `grubUseUKICmdline` (talos, cmd/installer/cmd/installer/install.go).
 *
 * @param active the active configuration; empty if it is unknown.
 * @param byGrub whether the machine boots with GRUB.
 */
export function takesImageArgs(active: string, byGrub: boolean): boolean {
  if (!byGrub) return true;
  const documents = valuesOf(active);
  const installs = documents.flatMap((document) => valueAt(document, "machine", "install") ?? []);
  const byDocument = documents.some(isInstallation);
  return (
    byDocument ||
    installs.length === 0 ||
    installs.some((install) => valueAt(install, "grubUseUKICmdline") === true)
  );
}
