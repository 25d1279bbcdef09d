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
    const written = configurationInStyle(style, (path) => path);
    const patch = 'machine: { kernel: { modules: [{ name: nvidia }] }, sysctls: { a.b: "1" } }';
    const { configuration, added, conflicts } = mergeConfiguration(written, [patch]);
    expect(conflicts).toEqual([]);
    expect(linesAfter(written, configuration)).toEqual([]);
    expect(unmergeConfiguration(configuration, added)).toBe(written);
  },
);

describe("merging patches into a real configuration", () => {
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
    const lost = talosConfiguration.split("\n").filter((line) => !lines.has(line));
    expect(lost).toEqual(["        image: ghcr.io/siderolabs/installer:v1.11.1"]);
  });

  test("changes nothing the second time, with or without the record of the first merge", () => {
    for (const previous of [merged.added, undefined]) {
      const again = mergeConfiguration(merged.configuration, stackPatches, previous);
      expect(again.changed).toBe(false);
      expect(again.configuration).toBe(merged.configuration);
      expect(again.conflicts).toEqual([]);
      if (previous) expect(again.added).toEqual(merged.added);
    }
  });

  test("can be undone except for the kernel modules", () => {
    const [was] = contentOf(talosConfiguration) as [{ machine: Record<string, any> }];
    const [merge] = contentOf(merged.configuration) as [{ machine: Record<string, any> }];
    const [left, ...documents] = contentOf(
      unmergeConfiguration(merged.configuration, merged.added, false),
    );
    expect([left, ...documents]).toEqual([
      { ...was, machine: { ...was.machine, kernel: merge.machine["kernel"] } },
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
  const image = (name: string): string => `machine:\n  install:\n    image: ${name}\n`;

  test("a merge removes settings that the patches no longer have", () => {
    const first = mergeConfiguration(talosConfiguration, stackPatches);
    const second = mergeConfiguration(first.configuration, [image("a:2")], first.added);
    const [config] = contentOf(second.configuration) as [{ machine: Record<string, any> }];
    expect(config.machine["kernel"].modules).toEqual([
      { name: "drbd", parameters: ["usermode_helper=disabled"] },
    ]);
    expect(config.machine["files"]).toHaveLength(1);
    expect(config.machine["sysctls"]).toEqual({ "vm.nr_hugepages": "1024" });
    expect(contentOf(unmergeConfiguration(second.configuration, second.added))).toEqual(
      contentOf(talosConfiguration),
    );
  });

  test("unmerging keeps a setting that another tool has changed since the merge", () => {
    const first = mergeConfiguration(talosConfiguration, [image("a:1")]);
    const theirs = first.configuration.replace("image: a:1", "image: b:1");
    expect(unmergeConfiguration(theirs, first.added)).toBe(theirs);
  });

  test("a merge changes nothing if another tool has put an item after the stack's items", () => {
    const first = mergeConfiguration(talosConfiguration, stackPatches);
    const theirs = first.configuration.replace(
      /( +)- name: nvidia_modeset\n/,
      "$1- name: nvidia_modeset\n$1- name: zfs\n",
    );
    expect(theirs).not.toBe(first.configuration);
    expect(mergeConfiguration(theirs, stackPatches, first.added)).toMatchObject({
      changed: false,
      configuration: theirs,
    });
  });
});

test("a file of the stack that another tool has changed is a conflict", () => {
  const file = (content: string): string =>
    stringify({ machine: { files: [{ op: "create", path: customizationPath, content }] } });
  const first = mergeConfiguration("machine: {}\n", [file("a = 1\n")]);
  const second = mergeConfiguration(
    first.configuration.replace("a = 1", "a = 9"),
    [file("a = 1\n")],
    first.added,
  );
  expect(second.conflicts[0]?.problem).toContain("its content has changed since");
});

test("an unmerge that leaves the kernel modules also leaves their documents", () => {
  const link = stringify({ apiVersion: "v1alpha1", kind: "LinkConfig", name: "eth0", mtu: 1500 });
  const module = stringify({ apiVersion: "v1alpha1", kind: "KernelModuleConfig", name: "drbd9" });
  const { configuration, added } = mergeConfiguration(talosConfiguration, [module, link]);
  const stays = contentOf(unmergeConfiguration(configuration, added, false));
  expect(stays).toEqual([
    ...contentOf(talosConfiguration),
    { apiVersion: "v1alpha1", kind: "KernelModuleConfig", name: "drbd9" },
  ]);
  expect(contentOf(unmergeConfiguration(configuration, added))).toEqual(
    contentOf(talosConfiguration),
  );
});
