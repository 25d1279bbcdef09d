import { createHash } from "node:crypto";
import { parse } from "yaml";
import { installerImage, readSchematic, schematicOf } from "../../../components/recipe/index";

test.each([
  ["no extension", [], "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"],
  [
    "production extensions, modules first",
    [
      "siderolabs/nvidia-open-gpu-kernel-modules-production",
      "siderolabs/nvidia-container-toolkit-production",
    ],
    "1deaeeb1ea2e7901c21c109368a7261f52dfd9a91e9d7eea83cfd0f0e1b7d488",
  ],
  [
    "sorted production extensions",
    [
      "siderolabs/nvidia-container-toolkit-production",
      "siderolabs/nvidia-open-gpu-kernel-modules-production",
    ],
    "6698d6f136c5bb37ca8bb8482c9084305084da0a5ead1f4dcae760796f8ab3a2",
  ],
  [
    "sorted lts extensions",
    ["siderolabs/nvidia-container-toolkit-lts", "siderolabs/nvidia-open-gpu-kernel-modules-lts"],
    "86a5d7c9beb23b4aea2777e44ca06c8c2ceea8a874ccd2b9a6743c4f734329e0",
  ],
])("a schematic with %s has the Image Factory's ID", (_, extensions, id) => {
  expect(schematicOf({ extensions, kernelArgs: [] }).id).toBe(id);
});

test("a schematic has kernel arguments before extensions, indented by four spaces", () => {
  const schematic = schematicOf({
    extensions: ["siderolabs/a", "siderolabs/b"],
    kernelArgs: ["arm64.nobti", "-console", "console=ttyS0,115200"],
  });
  expect(schematic.yaml).toBe(
    [
      "customization:",
      "    extraKernelArgs:",
      "        - arm64.nobti",
      "        - -console",
      "        - console=ttyS0,115200",
      "    systemExtensions:",
      "        officialExtensions:",
      "            - siderolabs/a",
      "            - siderolabs/b",
      "",
    ].join("\n"),
  );
  expect(schematic.id).toBe(createHash("sha256").update(schematic.yaml).digest("hex"));
  expect(parse(schematic.yaml)).toHaveProperty("customization.extraKernelArgs.1", "-console");
});

test.each([
  [
    { bootloader: "none", secureboot: { enrollKeys: "", includeWellKnownCertificates: false } },
    undefined,
  ],
  [{ bootloader: "SD-Boot", secureboot: null }, { bootloader: "sd-boot" }],
  [
    { secureboot: { enrollKeys: null, includeWellKnownCertificates: true } },
    { secureboot: { includeWellKnownCertificates: true } },
  ],
])(
  "the non-empty fields of %j in a schematic are read and written, as the Image Factory does",
  (customization, expectedCustomization) => {
    const schematic = readSchematic(JSON.stringify({ customization }))!;
    expect(schematic.customization).toEqual(expectedCustomization);
    const expectedSchematic = schematicOf({
      extensions: [],
      kernelArgs: [],
      ...(expectedCustomization === undefined ? {} : { customization: expectedCustomization }),
    });
    expect(schematicOf(schematic).id).toBe(expectedSchematic.id);
  },
);

test("the boot loader none gives the same schematic as no boot loader", () => {
  const emptySchematic = { extensions: [], kernelArgs: [] };
  expect(schematicOf({ ...emptySchematic, customization: { bootloader: "none" } }).id).toBe(
    schematicOf(emptySchematic).id,
  );
});

test.each([
  ["v1.12.6", {}, "factory.talos.dev/metal-installer/abc:v1.12.6"],
  ["v1.12.6", { secureBoot: true }, "factory.talos.dev/metal-installer-secureboot/abc:v1.12.6"],
  ["v1.12.6", { platform: "nocloud" }, "factory.talos.dev/nocloud-installer/abc:v1.12.6"],
  ["v1.9.6", {}, "factory.talos.dev/installer/abc:v1.9.6"],
  ["v1.9.6", { secureBoot: true }, "factory.talos.dev/installer-secureboot/abc:v1.9.6"],
  [
    "v1.12.6",
    { factoryUrl: "http://127.0.0.1:8080/" },
    "127.0.0.1:8080/metal-installer/abc:v1.12.6",
  ],
])("for Talos %s with %j, the installer is %s", (release, options, image) =>
  expect(installerImage("abc", release, options)).toBe(image),
);
