import { bootPartitionOf, takesImageArgs } from "../../../components/clients/talos/boot-loader";
import type { Resource } from "../../../components/clients/talos/talosctl-output";

test.each<[string, boolean, string, boolean]>([
  [
    "GRUB and no grubUseUKICmdline in machine.install",
    false,
    "machine: {install: {disk: /dev/sda}}",
    true,
  ],
  [
    "GRUB and grubUseUKICmdline: false",
    false,
    "machine: {install: {grubUseUKICmdline: false}}",
    true,
  ],
  ["GRUB and grubUseUKICmdline: true", true, "machine: {install: {grubUseUKICmdline: true}}", true],
  ["GRUB and no machine.install", true, "machine: {type: worker}", true],
  [
    "GRUB and a document UnattendedInstallConfig",
    true,
    "machine: {install: {}}\n---\nkind: UnattendedInstallConfig",
    true,
  ],
  ["GRUB and an unknown configuration", true, "", true],
  ["systemd-boot", true, "machine: {install: {disk: /dev/sda}}", false],
])(
  "with %s, the boot loader uses the image's kernel arguments: %s",
  (_, usesImageArgs, active, isGrub) => {
    expect(takesImageArgs(active, isGrub)).toBe(usesImageArgs);
  },
);

/** A partition in the form in which Talos reports it. */
const partition = (label: string, parent: string, size?: number): Resource => ({
  metadata: { id: `${parent}-${label}` },
  spec: { parent, partition_label: label, ...(size === undefined ? {} : { size }) },
});
const meta = partition("META", "vda", 2 ** 20);

test.each([
  [
    "with systemd-boot, the boot partition is EFI",
    [partition("EFI", "vda", 1154482176), meta],
    { name: "EFI", bytes: 1154482176 },
  ],
  [
    "with GRUB, the boot partition is BOOT",
    [partition("EFI", "vda", 104857600), partition("BOOT", "vda", 1048576000), meta],
    { name: "BOOT", bytes: 1048576000 },
  ],
  [
    "a partition EFI on another disk than Talos is not the boot partition",
    [partition("EFI", "vdb", 104857600), meta],
    undefined,
  ],
  [
    "a partition EFI without a size is not the boot partition",
    [partition("EFI", "vda"), meta],
    undefined,
  ],
])("%s", (_, volumes, expected) => {
  expect(bootPartitionOf(volumes)).toEqual(expected);
});
