import {
  containerdOverrides,
  fieldOverrides,
} from "../../../../components/recipe/machine/documents/overrides";
import { documentsOf } from "../../../../components/recipe/merge/wanted";

const documents = (...texts: string[]) => new Map(documentsOf(texts.join("\n---\n")));

// Talos v1.14.1 reads them in this order (pkg/machinery/config/container/container.go); the sysctls were seen on a
// machine.
test.each<[string, string, string[]]>([
  [
    "machine: {sysctls: {a: '1', b: '2'}}",
    "kind: SysctlConfig\nparams: {a: '2', b: '2', c: '3'}",
    ["a"],
  ],
  ["machine: {sysctls: {a: 1}}", "kind: SysctlConfig\nparams: {a: '1'}", []],
  ["machine: {sysfs: {a: '1'}}", "kind: SysfsConfig\nparams: {a: '2'}", ["a"]],
  ["machine: {udev: {rules: [x]}}", "kind: UdevRulesConfig\nrules: [y]", ["rules"]],
  [
    "machine: {kernel: {modules: [{name: n, parameters: [a=1]}]}}",
    "kind: KernelModuleConfig\nname: n",
    ["parameters of n"],
  ],
  ["machine: {kernel: {modules: [{name: n}]}}", "kind: KernelModuleConfig\nname: n", []],
  ["machine: {sysctls: {a: '1'}}", "kind: Other\nparams: {a: '2'}", []],
])("of the fields %s, the document %j overrides %j", (main, document, keys) => {
  expect(fieldOverrides(documents(main, document)).map(({ key }) => key)).toEqual(keys);
});

describe("parts of containerd's configuration", () => {
  const part = (level: string): string => `[debug]\nlevel = "${level}"\naddress = ["a"]\n`;
  const customization = (name: string, level: string): string =>
    JSON.stringify({ kind: "CRICustomizationConfig", name, content: part(level) });

  test("override each other in the order of their names, except in lists", () => {
    const own = "containerd's part in machine.files";
    expect(containerdOverrides(documents(customization("zz", "debug")), part("info"))).toEqual([
      { key: "debug.level", wins: "CRICustomizationConfig zz", loses: own },
    ]);
    expect(containerdOverrides(documents(customization("aa", "debug")), part("info"))).toEqual([
      { key: "debug.level", wins: own, loses: "CRICustomizationConfig aa" },
    ]);
    expect(containerdOverrides(documents(customization("zz", "info")), part("info"))).toEqual([]);
  });
});
