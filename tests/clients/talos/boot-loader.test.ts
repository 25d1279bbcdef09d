import { bootPartitionOf, takesImageArgs } from "../../../components/clients/talos/boot-loader";

test.each<[string, string, boolean, boolean]>([
  [
    "GRUB, and an installation that does not say so",
    "machine: {install: {disk: /dev/sda}}",
    true,
    false,
  ],
  ["GRUB, and one that says not", "machine: {install: {grubUseUKICmdline: false}}", true, false],
  ["GRUB, and one that says so", "machine: {install: {grubUseUKICmdline: true}}", true, true],
  ["GRUB, and no installation", "machine: {type: worker}", true, true],
  [
    "GRUB, and one of a document's",
    "machine: {install: {}}\n---\nkind: UnattendedInstallConfig",
    true,
    true,
  ],
  ["GRUB, and a configuration that is not known", "", true, true],
  ["systemd-boot", "machine: {install: {disk: /dev/sda}}", false, true],
])("whether the boot loader uses the image's kernel arguments: %s", (_, active, byGrub, takes) => {
  expect(takesImageArgs(active, byGrub)).toBe(takes);
});

/** A partition as Talos reports it. */
const partition = (label: string, parent: string, size?: number) => ({
  metadata: { id: `${parent}-${label}` },
  spec: { parent, partition_label: label, ...(size === undefined ? {} : { size }) },
});
const meta = partition("META", "vda", 2 ** 20);

test.each([
  [
    "with systemd-boot, EFI",
    [partition("EFI", "vda", 1154482176), meta],
    { name: "EFI", bytes: 1154482176 },
  ],
  [
    "with GRUB, BOOT",
    [partition("EFI", "vda", 104857600), partition("BOOT", "vda", 1048576000), meta],
    { name: "BOOT", bytes: 1048576000 },
  ],
  ["on Talos' disk only", [partition("EFI", "vdb", 104857600), meta], undefined],
  ["with a size only", [partition("EFI", "vda"), meta], undefined],
])("the boot partition is, %s", (_, volumes, expected) => {
  expect(bootPartitionOf(volumes as Parameters<typeof bootPartitionOf>[0])).toEqual(expected);
});
