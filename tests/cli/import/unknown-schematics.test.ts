import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { parse, stringify } from "yaml";
import { idOf } from "../../../cli/import/schematics";
import { importFiles } from "../../../cli/import/verb";
import { runVerb } from "../support";

const schematic = (officialExtensions: string[], extraKernelArgs?: string[]) => ({
  customization: {
    ...(extraKernelArgs && { extraKernelArgs }),
    systemExtensions: { officialExtensions },
  },
});
const currentExtensions = [
  "siderolabs/iscsi-tools",
  "siderolabs/nonfree-kmod-nvidia-lts",
  "siderolabs/nvidia-container-toolkit-lts",
];
const formerExtensions = [
  "siderolabs/iscsi-tools",
  "siderolabs/nonfree-kmod-nvidia",
  "siderolabs/nvidia-container-toolkit",
];
const ltsDriver = { branch: "lts", flavour: "proprietary" };

/**
 * Imports nodes gpu-0, gpu-1 … with these schematics from the folder talos/ of a repository that also has these
 * files.
 */
async function importNodes(ids: string[], files: Record<string, object> = {}, ...argv: string[]) {
  const repository = fs.mkdtempSync(path.join(os.tmpdir(), "import-"));
  const nodes = ids.map((id, index) => ({
    hostname: `gpu-${index}`,
    ipAddress: `192.0.2.${index + 1}`,
    talosImageURL: `factory.talos.dev/metal-installer/${id}`,
  }));
  const allFiles = {
    "talos/talconfig.yaml": { talosVersion: "v1.12.6", nodes },
    ".git/config": {},
    ...files,
  };
  for (const [name, content] of Object.entries(allFiles)) {
    fs.mkdirSync(path.dirname(path.join(repository, name)), { recursive: true });
    fs.writeFileSync(path.join(repository, name), stringify(content));
  }
  const cards = nodes.flatMap(({ hostname }) => ["--gpu", `${hostname}=RTX 3060`]);
  const { stdout, remarks } = await runVerb("import", importFiles, [
    path.join(repository, "talos/talconfig.yaml"),
    ...cards,
    ...argv,
  ]);
  const { config } = parse(stdout) as { config: Record<string, any> };
  return { driver: config["talos-gpu:driver"], machines: config["talos-gpu:machines"], remarks };
}

test.each([
  ["without kernel arguments", idOf(schematic(currentExtensions))],
  ["with the old names of the extensions", idOf(schematic(formerExtensions, ["pci=realloc"]))],
  ["with the old names and without kernel arguments", idOf(schematic(formerExtensions))],
])("a schematic file also matches the ID of an earlier image %s", async (_, id) => {
  const { driver, machines } = await importNodes([id], {
    "schematics/gpu.yaml": schematic(currentExtensions, ["pci=realloc"]),
  });
  expect(driver).toEqual(ltsDriver);
  expect(machines["gpu-0"].extensions).toEqual(["siderolabs/iscsi-tools"]);
});

test("a note requests the driver of a machine with an unknown schematic", async () => {
  const knownId = idOf(schematic(currentExtensions));
  const { driver, machines, remarks } = await importNodes([knownId, "2".repeat(64)], {
    "talos/gpu.yaml": schematic(currentExtensions),
  });
  expect(driver).toBeUndefined();
  expect(machines["gpu-0"].driver).toEqual(ltsDriver);
  expect(machines["gpu-1"].driver).toEqual({});
  expect(remarks).toContainEqual(
    expect.stringMatching(
      /^machines\.gpu-1\.extensions: .*lacks the image's driver.*kernel arguments.*driver\.branch/,
    ),
  );
});

test("with --factory, an Image Factory that does not answer is reported", async () => {
  const fetchMock = jest
    .spyOn(globalThis, "fetch")
    .mockRejectedValue(new TypeError("fetch failed"));
  const { remarks } = await importNodes(["2".repeat(64)], {}, "--factory");
  fetchMock.mockRestore();
  expect(remarks).toContainEqual(
    expect.stringMatching(
      /^--factory: https:\/\/factory\.talos\.dev did not return schematic 222.*…/,
    ),
  );
});

test.each([
  [
    "current",
    "lts",
    ["siderolabs/nonfree-kmod-nvidia-lts", "siderolabs/nvidia-container-toolkit-lts"],
  ],
  ["former", "lts", ["siderolabs/nonfree-kmod-nvidia", "siderolabs/nvidia-container-toolkit"]],
  [
    "former, reversed",
    "lts",
    ["siderolabs/nvidia-container-toolkit", "siderolabs/nonfree-kmod-nvidia"],
  ],
])(
  "a schematic with only NVIDIA's extensions is recognised by its ID, with %s names",
  async (_, branch, names) => {
    const { driver, remarks } = await importNodes([idOf(schematic(names))]);
    expect(driver).toEqual({ branch, flavour: "proprietary" });
    expect(remarks.join("\n")).not.toMatch(/the content of schematic/);
  },
);
