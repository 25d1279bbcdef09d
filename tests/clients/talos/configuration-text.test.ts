import { installImage, isMoreThanInstallation } from "../../../components/clients/talos/configuration-text";

test.each([
  ["machine.install", "machine: {type: worker, install: {image: IMAGE}}"],
  ["a document of its own", "machine: {type: worker}\n---\nkind: UnattendedInstallConfig\ninstaller: {image: IMAGE}"],
])("the installation alone is no more than that: %s", (_, text) => {
  const [active, persistent] = ["a:1", "a:2"].map((image) => text.replace("IMAGE", image)) as [string, string];
  expect([active, persistent].map(installImage)).toEqual(["a:1", "a:2"]);
  expect(isMoreThanInstallation({ active, persistent })).toBe(false);
  expect(isMoreThanInstallation({ active, persistent: persistent.replace("worker", "controlplane") })).toBe(true);
});
