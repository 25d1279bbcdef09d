import { stringify } from "yaml";
import { mergeConfiguration, unmergeConfiguration } from "../../../components/recipe";
import { contentOf, talosConfiguration } from "./content";

// Changes by the configuration's owner after a merge. talhelper, for example, applies its own configuration as a
// whole.
const image = (name: string): string => `machine:\n  install:\n    image: ${name}\n`;

test.each([
  {
    case: "replaces a value that the stack changed",
    live: talosConfiguration,
    theirs: image("theirs:2"),
  },
  {
    case: "replaces a value that the stack added",
    live: "machine:\n  install:\n    disk: /dev/sda\n",
    theirs: image("theirs:1"),
  },
  {
    case: "removes a value that the stack changed",
    live: talosConfiguration,
    theirs: "machine:\n  install:\n    disk: /dev/sda\n",
  },
])(
  "if the owner $case, a merge sets the stack's value again, and unmerging restores the owner's text",
  (row) => {
    const first = mergeConfiguration(row.live, [image("a:1")]);
    for (const wanted of ["a:1", "a:2"]) {
      const second = mergeConfiguration(row.theirs, [image(wanted)], first.added);
      expect(second.changed).toBe(true);
      expect(second.configuration).toContain(`image: ${wanted}`);
      const third = mergeConfiguration(second.configuration, [image("a:3")], second.added);
      for (const merged of [second, third])
        expect(contentOf(unmergeConfiguration(merged.configuration, merged.added))).toEqual(
          contentOf(row.theirs),
        );
    }
  },
);

// A run staged this value, but its answer was lost, so the value looks like the owner's.
test("if a staged value is merged again, unmerging still restores the original value", () => {
  const first = mergeConfiguration(talosConfiguration, [image("a:1")]);
  const unheard = mergeConfiguration(first.configuration, [image("a:2")], first.added);
  const again = mergeConfiguration(unheard.configuration, [image("a:2")], first.added);
  expect(again).toMatchObject({ changed: false, added: unheard.added });
  expect(contentOf(unmergeConfiguration(again.configuration, again.added))).toEqual(
    contentOf(talosConfiguration),
  );
});

const modules = (...items: object[]): string =>
  stringify({ machine: { kernel: { modules: items } } });
const volume = (size: string): string =>
  stringify({ kind: "UserVolumeConfig", name: "data", size });
test.each([
  {
    case: "removes the item that the patch extends",
    before: modules({ name: "nvidia", parameters: ["theirs"] }),
    patch: modules({ name: "nvidia", parameters: ["ours"] }),
    after: modules(),
    says: [{ machine: { kernel: { modules: [{ name: "nvidia", parameters: ["ours"] }] } } }],
  },
  {
    case: "removes the document that the patch changes",
    before: `machine: {}\n---\n${volume("1GB")}`,
    patch: volume("2GB"),
    after: "machine: {}\n",
    says: [{ machine: {} }, { kind: "UserVolumeConfig", name: "data", size: "2GB" }],
  },
  {
    case: "changes a document that the patch added",
    before: "machine: {}\n",
    patch: volume("2GB"),
    after: `machine: {}\n---\n${volume("1GB")}`,
    says: [{ machine: {} }, { kind: "UserVolumeConfig", name: "data", size: "2GB" }],
  },
])(
  "if the owner $case, the patch still applies, and its removal restores the owner's values",
  (row) => {
    const first = mergeConfiguration(row.before, [row.patch]);
    const second = mergeConfiguration(row.after, [row.patch], first.added);
    expect(contentOf(second.configuration)).toEqual(row.says);
    expect(contentOf(unmergeConfiguration(second.configuration, second.added))).toEqual(
      contentOf(row.after),
    );
  },
);
