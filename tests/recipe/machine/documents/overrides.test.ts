import {
  containerdOverrides,
  fieldOverrides,
} from "../../../../components/recipe/machine/documents/overrides";
import { documentsOf } from "../../../../components/recipe/merge/wanted";

const documents = (...texts: string[]) => new Map(documentsOf(texts.join("\n---\n")));

// Talos v1.14.1 reads them in this order (pkg/machinery/config/container/container.go). For sysctls, we have seen it
// on a machine.
test.each<[machineFields: string, document: string, keys: string[]]>([
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
])("of the fields %s, the document %j overrides %j", (machineFields, document, keys) => {
  expect(fieldOverrides(documents(machineFields, document)).map(({ key }) => key)).toEqual(keys);
});

describe("parts of containerd's configuration", () => {
  const containerdPart = (level: string): string =>
    `[debug]\nlevel = "${level}"\naddress = ["a"]\n`;
  const customization = (name: string, level: string): string =>
    JSON.stringify({ kind: "CRICustomizationConfig", name, content: containerdPart(level) });

  test("override each other in the order of their names, except in lists", () => {
    const machineFilesPart = "containerd's part in machine.files";
    expect(
      containerdOverrides(documents(customization("zz", "debug")), containerdPart("info")),
    ).toEqual([{ key: "debug.level", wins: "CRICustomizationConfig zz", loses: machineFilesPart }]);
    expect(
      containerdOverrides(documents(customization("aa", "debug")), containerdPart("info")),
    ).toEqual([{ key: "debug.level", wins: machineFilesPart, loses: "CRICustomizationConfig aa" }]);
    expect(
      containerdOverrides(documents(customization("zz", "info")), containerdPart("info")),
    ).toEqual([]);
  });
});
