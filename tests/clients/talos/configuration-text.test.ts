import { installImage } from "../../../components/clients/talos/configuration-text";
import { changedParts } from "../../../components/recipe/effect/parts";
import { isOfInstallation } from "../../../components/recipe/effect/update-effect";

test.each([
  ["machine.install", "machine: {type: worker, install: {image: IMAGE}}"],
  [
    "a document of its own",
    "machine: {type: worker}\n---\nkind: UnattendedInstallConfig\ninstaller: {image: IMAGE}",
  ],
])("detects a configuration that changes only machine.install: %s", (_, text) => {
  const [active, persistent] = ["a:1", "a:2"].map((image) => text.replace("IMAGE", image)) as [
    string,
    string,
  ];
  expect([active, persistent].map(installImage)).toEqual(["a:1", "a:2"]);
  const parts = (after: string): boolean[] => changedParts(active, after).map(isOfInstallation);
  expect(parts(persistent)).toEqual([true]);
  expect(parts(persistent.replace("worker", "controlplane"))).toContain(false);
});
