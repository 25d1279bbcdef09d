import { stringify } from "yaml";
import {
  customizationPath,
  mergeConfiguration,
  unmergeConfiguration,
} from "../../../components/recipe";
import {
  configurationInStyle,
  configurationStyles,
  linesAfter,
} from "../../support/configuration-styles";
import { stackPatches } from "./stack-patches";
import { contentOf, talosConfiguration } from "./content";

test.each(configurationStyles)(
  "a merge keeps every line in the style of %s, and unmerging restores the whole text",
  (style) => {
    const original = configurationInStyle(style, (path) => path);
    const patch = 'machine: { kernel: { modules: [{ name: nvidia }] }, sysctls: { a.b: "1" } }';
    const { configuration, added, conflicts } = mergeConfiguration(original, [patch]);
    expect(conflicts).toEqual([]);
    expect(linesAfter(original, configuration)).toEqual([]);
    expect(unmergeConfiguration(configuration, added)).toBe(original);
  },
);

describe("merging patches into a typical configuration", () => {
  const merged = mergeConfiguration(talosConfiguration, stackPatches);

  test("adds the wanted settings", () => {
    expect(merged.conflicts).toEqual([]);
    expect(merged.changed).toBe(true);
    const [config] = contentOf(merged.configuration) as [{ machine: Record<string, any> }];
    expect(config.machine["install"]).toEqual({
      disk: "/dev/nvme0n1",
      image: expect.stringContaining("factory.talos.dev/metal-installer/"),
    });
    expect(config.machine["kernel"].modules.map((module: { name: string }) => module.name)).toEqual(
      ["drbd", "nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset"],
    );
    expect(config.machine["sysctls"]).toEqual({
      "vm.nr_hugepages": "1024",
      "net.core.bpf_jit_harden": "1",
    });
    expect(config.machine["files"].map((file: { path: string }) => file.path)).toEqual([
      "/var/lib/app.conf",
      customizationPath,
    ]);
  });

  test("keeps every comment, and keeps other documents byte for byte", () => {
    expect(merged.configuration).toContain(
      talosConfiguration.slice(talosConfiguration.indexOf("---")),
    );
    for (const comment of talosConfiguration.match(/#.*/g) ?? [])
      expect(merged.configuration).toContain(comment);
  });

  test("replaces no line except that of the installer image", () => {
    const lines = new Set(merged.configuration.split("\n"));
    const replacedLines = talosConfiguration.split("\n").filter((line) => !lines.has(line));
    expect(replacedLines).toEqual(["        image: ghcr.io/siderolabs/installer:v1.11.1"]);
  });

  test("changes nothing the second time, with or without the record of the first merge", () => {
    for (const previous of [merged.added, undefined]) {
      const secondMerge = mergeConfiguration(merged.configuration, stackPatches, previous);
      expect(secondMerge.changed).toBe(false);
      expect(secondMerge.configuration).toBe(merged.configuration);
      expect(secondMerge.conflicts).toEqual([]);
      if (previous) expect(secondMerge.added).toEqual(merged.added);
    }
  });

  test("can be undone except for the kernel modules", () => {
    const [originalDocument] = contentOf(talosConfiguration) as [{ machine: Record<string, any> }];
    const [mergedDocument] = contentOf(merged.configuration) as [{ machine: Record<string, any> }];
    const unmergedDocuments = contentOf(
      unmergeConfiguration(merged.configuration, merged.added, false),
    );
    expect(unmergedDocuments).toEqual([
      {
        ...originalDocument,
        machine: { ...originalDocument.machine, kernel: mergedDocument.machine["kernel"] },
      },
      ...contentOf(talosConfiguration).slice(1),
    ]);
  });

  test("gives a record of plain JSON", () =>
    expect(JSON.parse(JSON.stringify(merged.added))).toEqual(merged.added));

  test("does not change the text if the list of patches is empty", () => {
    expect(mergeConfiguration(talosConfiguration, [])).toEqual({
      configuration: talosConfiguration,
      added: { additions: [] },
      changed: false,
      conflicts: [],
    });
    expect(unmergeConfiguration(talosConfiguration, { additions: [] })).toBe(talosConfiguration);
  });
});

describe("merging patches again and again", () => {
  const imagePatch = (name: string): string => `machine:\n  install:\n    image: ${name}\n`;

  test("a merge removes settings that the patches no longer have", () => {
    const firstMerge = mergeConfiguration(talosConfiguration, stackPatches);
    const secondMerge = mergeConfiguration(
      firstMerge.configuration,
      [imagePatch("a:2")],
      firstMerge.added,
    );
    const [config] = contentOf(secondMerge.configuration) as [{ machine: Record<string, any> }];
    expect(config.machine["kernel"].modules).toEqual([
      { name: "drbd", parameters: ["usermode_helper=disabled"] },
    ]);
    expect(config.machine["files"]).toHaveLength(1);
    expect(config.machine["sysctls"]).toEqual({ "vm.nr_hugepages": "1024" });
    expect(contentOf(unmergeConfiguration(secondMerge.configuration, secondMerge.added))).toEqual(
      contentOf(talosConfiguration),
    );
  });

  test("unmerging keeps a setting that another tool has changed since the merge", () => {
    const firstMerge = mergeConfiguration(talosConfiguration, [imagePatch("a:1")]);
    const changedConfiguration = firstMerge.configuration.replace("image: a:1", "image: b:1");
    expect(unmergeConfiguration(changedConfiguration, firstMerge.added)).toBe(changedConfiguration);
  });

  test("a merge changes nothing if another tool has put an item after the stack's items", () => {
    const firstMerge = mergeConfiguration(talosConfiguration, stackPatches);
    const changedConfiguration = firstMerge.configuration.replace(
      /( +)- name: nvidia_modeset\n/,
      "$1- name: nvidia_modeset\n$1- name: zfs\n",
    );
    expect(changedConfiguration).not.toBe(firstMerge.configuration);
    expect(mergeConfiguration(changedConfiguration, stackPatches, firstMerge.added)).toMatchObject({
      changed: false,
      configuration: changedConfiguration,
    });
  });
});

test("a file of the stack that another tool has changed is a conflict", () => {
  const filePatch = (content: string): string =>
    stringify({ machine: { files: [{ op: "create", path: customizationPath, content }] } });
  const firstMerge = mergeConfiguration("machine: {}\n", [filePatch("a = 1\n")]);
  const secondMerge = mergeConfiguration(
    firstMerge.configuration.replace("a = 1", "a = 9"),
    [filePatch("a = 1\n")],
    firstMerge.added,
  );
  expect(secondMerge.conflicts[0]?.problem).toContain("its content has changed since");
});

test("an unmerge that leaves the kernel modules also leaves their documents", () => {
  const linkDocument = stringify({
    apiVersion: "v1alpha1",
    kind: "LinkConfig",
    name: "eth0",
    mtu: 1500,
  });
  const moduleDocument = stringify({
    apiVersion: "v1alpha1",
    kind: "KernelModuleConfig",
    name: "drbd9",
  });
  const { configuration, added } = mergeConfiguration(talosConfiguration, [
    moduleDocument,
    linkDocument,
  ]);
  const remainingDocuments = contentOf(unmergeConfiguration(configuration, added, false));
  expect(remainingDocuments).toEqual([
    ...contentOf(talosConfiguration),
    { apiVersion: "v1alpha1", kind: "KernelModuleConfig", name: "drbd9" },
  ]);
  expect(contentOf(unmergeConfiguration(configuration, added))).toEqual(
    contentOf(talosConfiguration),
  );
});
