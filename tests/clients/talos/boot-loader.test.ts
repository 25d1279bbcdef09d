import { takesImageArgs } from "../../../components/clients/talos/boot-loader";

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
