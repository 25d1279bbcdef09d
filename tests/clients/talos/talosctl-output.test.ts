import {
  configurationText,
  parseResources,
  parseTable,
  parseVersion,
} from "../../../components/clients/talos/talosctl-output";
import { parseDriverVersion, parseModules } from "../../../components/clients/talos/driver";

test("parseResources reads indented JSON objects that follow each other", () => {
  const firstResource = {
    node: "10.0.0.1",
    metadata: { id: "v1alpha1" },
    spec: "version: v1alpha1\n---\nkind: X\n",
  };
  const secondResource = {
    node: "10.0.0.1",
    metadata: { id: "persistent" },
    spec: "a: |\n    }\n    {\n",
  };
  const text = `${JSON.stringify(firstResource, null, 4)}\n${JSON.stringify(secondResource, null, 4)}\n`;
  expect(parseResources(text)).toEqual([firstResource, secondResource]);
  expect(parseResources("")).toEqual([]);
  expect(configurationText(firstResource)).toBe("version: v1alpha1\n---\nkind: X\n");
  expect(configurationText({ metadata: { id: "v1alpha1" }, spec: { version: "v1alpha1" } })).toBe(
    "version: v1alpha1\n",
  );
});

test("parseTable finds cells by the columns of the titles, even if a cell is empty", () => {
  const text = [
    "NODE       SERVICE                  STATE      HEALTH   LAST CHANGE   LAST EVENT",
    "10.0.0.1   ext-nvidia-cdi-gen       Finished   ?        4m ago        Service finished successfully",
    "10.0.0.1   ext-nvidia-persistenced  Running             5m ago        Started task",
  ].join("\n");
  expect(parseTable(text).map((row) => [row["SERVICE"], row["STATE"], row["HEALTH"]])).toEqual([
    ["ext-nvidia-cdi-gen", "Finished", "?"],
    ["ext-nvidia-persistenced", "Running", ""],
  ]);
});

test("parseVersion reads the release of the machine", () => {
  expect(
    parseVersion(
      '{"metadata":{"hostname":"10.0.0.1"},"version":{"tag":"v1.12.6","arch":"amd64"}}\n',
    ),
  ).toBe("v1.12.6");
  expect(() => parseVersion("{}")).toThrow("no version");
});

test.each([
  [
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.211.01  Release Build  (dvs-builder@U22)",
    "570.211.01",
  ],
  [
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.247.01  Wed May  1 00:00:00 UTC 2025",
    "535.247.01",
  ],
  [
    "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  595.71.05  Release Build",
    "595.71.05",
  ],
])("the driver version in %j is %s", (text, version) =>
  expect(parseDriverVersion(text)).toBe(version),
);

test("an empty text has no driver version", () => expect(parseDriverVersion("")).toBeUndefined());

test("parseModules returns only live modules", () => {
  const text =
    "nvidia_uvm 1556480 0 - Live 0x0000000000000000 (O)\nnvidia 103 2 nvidia_uvm,nvidia_modeset, Loading 0x0 (O)\n";
  expect([...parseModules(text)]).toEqual(["nvidia_uvm"]);
});
