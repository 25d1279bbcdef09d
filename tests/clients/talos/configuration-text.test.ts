import { installImage } from "../../../components/clients/talos/configuration-text";
import { changedParts } from "../../../components/recipe/effect/parts";
import { isOfInstallation } from "../../../components/recipe/effect/update-effect";

test.each([
  ["machine.install", "machine: {type: worker, install: {image: IMAGE}}"],
  [
    "the document UnattendedInstallConfig",
    "machine: {type: worker}\n---\nkind: UnattendedInstallConfig\ninstaller: {image: IMAGE}",
  ],
])("a change of only the installation is recognised in %s", (_, text) => {
  const [active, persistent] = ["a:1", "a:2"].map((image) => text.replace("IMAGE", image)) as [
    string,
    string,
  ];
  expect([active, persistent].map(installImage)).toEqual(["a:1", "a:2"]);
  const isInstallationChange = (changedConfiguration: string): boolean[] =>
    changedParts(active, changedConfiguration).map(isOfInstallation);
  expect(isInstallationChange(persistent)).toEqual([true]);
  expect(isInstallationChange(persistent.replace("worker", "controlplane"))).toContain(false);
});
