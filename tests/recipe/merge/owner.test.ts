import { stringify } from "yaml";
import { mergeConfiguration, unmergeConfiguration } from "../../../components/recipe";
import { contentOf, talosConfiguration } from "./content";

// Changes by the configuration's owner after a merge. talhelper, for example, applies its own configuration as a
// whole.
const imagePatch = (name: string): string => `machine:\n  install:\n    image: ${name}\n`;

test.each([
  {
    case: "replaces a value that the stack changed",
    configuration: talosConfiguration,
    ownersConfiguration: imagePatch("owner:2"),
  },
  {
    case: "replaces a value that the stack added",
    configuration: "machine:\n  install:\n    disk: /dev/sda\n",
    ownersConfiguration: imagePatch("owner:1"),
  },
  {
    case: "removes a value that the stack changed",
    configuration: talosConfiguration,
    ownersConfiguration: "machine:\n  install:\n    disk: /dev/sda\n",
  },
])(
  "if the owner $case, a merge sets the stack's value again, and unmerging restores the owner's text",
  (row) => {
    const firstMerge = mergeConfiguration(row.configuration, [imagePatch("a:1")]);
    for (const imageName of ["a:1", "a:2"]) {
      const secondMerge = mergeConfiguration(
        row.ownersConfiguration,
        [imagePatch(imageName)],
        firstMerge.added,
      );
      expect(secondMerge.changed).toBe(true);
      expect(secondMerge.configuration).toContain(`image: ${imageName}`);
      const thirdMerge = mergeConfiguration(
        secondMerge.configuration,
        [imagePatch("a:3")],
        secondMerge.added,
      );
      for (const merged of [secondMerge, thirdMerge])
        expect(contentOf(unmergeConfiguration(merged.configuration, merged.added))).toEqual(
          contentOf(row.ownersConfiguration),
        );
    }
  },
);

// A run staged this value but its answer was lost. No record says that the value is the stack's.
test("if a staged value is merged again, unmerging still restores the original value", () => {
  const firstMerge = mergeConfiguration(talosConfiguration, [imagePatch("a:1")]);
  const lostMerge = mergeConfiguration(
    firstMerge.configuration,
    [imagePatch("a:2")],
    firstMerge.added,
  );
  const repeatedMerge = mergeConfiguration(
    lostMerge.configuration,
    [imagePatch("a:2")],
    firstMerge.added,
  );
  expect(repeatedMerge).toMatchObject({ changed: false, added: lostMerge.added });
  expect(contentOf(unmergeConfiguration(repeatedMerge.configuration, repeatedMerge.added))).toEqual(
    contentOf(talosConfiguration),
  );
});

const modulesPatch = (...items: object[]): string =>
  stringify({ machine: { kernel: { modules: items } } });
const volumeDocument = (size: string): string =>
  stringify({ kind: "UserVolumeConfig", name: "data", size });
test.each([
  {
    case: "removes the item that the patch extends",
    before: modulesPatch({ name: "nvidia", parameters: ["owner=1"] }),
    patch: modulesPatch({ name: "nvidia", parameters: ["stack=1"] }),
    after: modulesPatch(),
    merged: [{ machine: { kernel: { modules: [{ name: "nvidia", parameters: ["stack=1"] }] } } }],
  },
  {
    case: "removes the document that the patch changes",
    before: `machine: {}\n---\n${volumeDocument("1GB")}`,
    patch: volumeDocument("2GB"),
    after: "machine: {}\n",
    merged: [{ machine: {} }, { kind: "UserVolumeConfig", name: "data", size: "2GB" }],
  },
  {
    case: "changes a document that the patch added",
    before: "machine: {}\n",
    patch: volumeDocument("2GB"),
    after: `machine: {}\n---\n${volumeDocument("1GB")}`,
    merged: [{ machine: {} }, { kind: "UserVolumeConfig", name: "data", size: "2GB" }],
  },
])(
  "if the owner $case, the patch still applies, and its removal restores the owner's values",
  (row) => {
    const firstMerge = mergeConfiguration(row.before, [row.patch]);
    const secondMerge = mergeConfiguration(row.after, [row.patch], firstMerge.added);
    expect(contentOf(secondMerge.configuration)).toEqual(row.merged);
    expect(contentOf(unmergeConfiguration(secondMerge.configuration, secondMerge.added))).toEqual(
      contentOf(row.after),
    );
  },
);
