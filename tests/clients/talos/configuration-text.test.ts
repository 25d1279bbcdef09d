import {
  installImage,
  isMoreThanInstallation,
  takesImageArgs,
} from "../../../components/clients/talos/configuration-text";

const grub = "BOOT_IMAGE=/A/vmlinuz talos.platform=metal";

test.each<[string, string, string | undefined, boolean]>([
  ["GRUB, and an installation that does not say so", "machine: {install: {disk: /dev/sda}}", grub, false],
  ["GRUB, and one that says not", "machine: {install: {grubUseUKICmdline: false}}", grub, false],
  ["GRUB, and one that says so", "machine: {install: {grubUseUKICmdline: true}}", grub, true],
  ["GRUB, and no installation", "machine: {type: worker}", grub, true],
  ["GRUB, and one of a document's", "machine: {install: {}}\n---\nkind: UnattendedInstallConfig", grub, true],
  ["GRUB, and a configuration that is not known", "", grub, true],
  ["systemd-boot", "machine: {install: {disk: /dev/sda}}", "talos.platform=metal", true],
  ["a command line that is not known", "machine: {install: {disk: /dev/sda}}", undefined, true],
])("whether the image's kernel arguments are taken: %s", (_, active, commandLine, takes) => {
  expect(takesImageArgs(active, commandLine)).toBe(takes);
});

test.each([
  ["machine.install", "machine: {type: worker, install: {image: IMAGE}}"],
  ["a document of its own", "machine: {type: worker}\n---\nkind: UnattendedInstallConfig\ninstaller: {image: IMAGE}"],
])("the installation alone is no more than that: %s", (_, text) => {
  const [active, persistent] = ["a:1", "a:2"].map((image) => text.replace("IMAGE", image)) as [string, string];
  expect([active, persistent].map(installImage)).toEqual(["a:1", "a:2"]);
  expect(isMoreThanInstallation({ active, persistent })).toBe(false);
  expect(isMoreThanInstallation({ active, persistent: persistent.replace("worker", "controlplane") })).toBe(true);
});
