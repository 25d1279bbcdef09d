import { type Factory, startFactory } from "../../factory";
import { readSchematic } from "../../factory/schematic";

const empty = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba";

const withExtensions = (...names: string[]): string =>
  JSON.stringify({
    customization: { systemExtensions: { officialExtensions: names.map((name) => `siderolabs/${name}`) } },
  });

describe("canonical schematics", () => {
  // IDs of the Factory's own tests: siderolabs/image-factory, pkg/schematic/schematic_test.go.
  test.each([
    ["nothing", "{}", empty],
    ["empty customization", "customization: {}", empty],
    ["empty list", `customization: {"extraKernelArgs": []}`, empty],
    ["empty section", "customization:\n  systemExtensions: {}\n", empty],
    [
      "arguments",
      `{"customization": {"systemExtensions": {}, "extraKernelArgs": ["noapic", "nolapic"]}}`,
      "9cba8e32753f91a16c1837ab8abf356af021706ef284aef07380780177d9a06c",
    ],
    [
      "meta",
      `{"customization": {"meta": [{"key": 10, "value": "foo"}], "extraKernelArgs": []}}`,
      "d308a2a5ee2277bed5fbaa104fcbc8d59122abfa737df987a95b4ca763459a7f",
    ],
    [
      "overlay",
      `{"overlay": {"name": "rpi_generic", "image": "siderolabs/sbc-raspberrypi"}}`,
      "ee21ef4a5ef808a9b7484cc0dda0f25075021691c8c09a276591eedb638ea1f9",
    ],
    [
      "secure boot",
      "customization:\n  secureboot:\n    includeWellKnownCertificates: true\n    enrollKeys: ''\n",
      "fa8e05f142a851d3ee568eb0a8e5841eaf6b0ebc8df9a63df16ac5ed2c04f3e6",
    ],
    [
      "sectors",
      "customization: {diskImage: {sectorSize: 4096}, bootloader: none}",
      "92833e9ddd9bb9e11b2464fa5525429f01866306d52ebd882ee08d7918f6d1ea",
    ],
    // Computed from the same layout.
    [
      "extensions",
      withExtensions("nvidia-open-gpu-kernel-modules-production", "nvidia-container-toolkit-production"),
      "1deaeeb1ea2e7901c21c109368a7261f52dfd9a91e9d7eea83cfd0f0e1b7d488",
    ],
    [
      "extensions in another order",
      withExtensions("nvidia-container-toolkit-production", "nvidia-open-gpu-kernel-modules-production"),
      "6698d6f136c5bb37ca8bb8482c9084305084da0a5ead1f4dcae760796f8ab3a2",
    ],
  ])("%s", (_name, body, id) => {
    expect(readSchematic(body).id).toBe(id);
  });

  test("quotes only what would be read back as something else", () => {
    const body = `{"customization": {"extraKernelArgs": ["1", "yes", "a: b", "console=ttyS0", "-foo", 7]}}`;
    expect(readSchematic(body).text).toBe(
      [
        "customization:",
        "    extraKernelArgs:",
        '        - "1"',
        '        - "yes"',
        "        - 'a: b'",
        "        - console=ttyS0",
        "        - -foo",
        '        - "7"',
        "",
      ].join("\n"),
    );
  });
});

describe("over HTTP", () => {
  let factory: Factory;
  beforeAll(async () => void (factory = await startFactory()));
  afterAll(() => factory.close());

  const get = (path: string): Promise<Response> => fetch(factory.url + path);

  test.each([
    ["v1.12.6", "nvidia-open-gpu-kernel-modules-production", "570.211.01-v1.12.6"],
    ["1.12.6", "nvidia-container-toolkit-production", "570.211.01-v1.18.2"],
    ["v1.11.5", "nonfree-kmod-nvidia-production", "570.172.08-v1.11.5"],
    ["v1.13.9", "nvidia-container-toolkit-lts", "580.178.04-v1.19.1"],
    ["v1.13.9", "nvidia-fabricmanager-production", "595.91.07"],
  ])("Talos %s has %s:%s", async (talos, name, tag) => {
    const list = (await (await get(`/version/${talos}/extensions/official`)).json()) as Record<string, string>[];
    expect(list).toContainEqual(
      expect.objectContaining({ name: `siderolabs/${name}`, ref: `ghcr.io/siderolabs/${name}:${tag}` }),
    );
    expect(new Set(list.map((each) => each["name"])).size).toBe(list.length);
  });

  const noSuch = (name: string, tag: string): string =>
    `official extension "siderolabs/${name}" is not available for Talos version ${tag}\n`;

  // What the preflight and the program ask for before an upgrade, and what a machine pulls. An old name stands for the lts branch.
  test.each<[image: string, extensions: string[] | string, tag: string, status: number, body: string]>([
    ["metal-installer", ["nvidia-gdrdrv-device"], "v1.12.6", 200, ""],
    ["nocloud-installer-secureboot", ["nvidia-container-toolkit", "nonfree-kmod-nvidia"], "v1.12.6", 200, ""],
    ["metal-installer", ["nvidia-driver"], "v1.12.6", 400, noSuch("nvidia-driver", "v1.12.6")],
    ["metal-installer", ["nvidia-gdrdrv-device"], "v1.11.5", 400, noSuch("nvidia-gdrdrv-device", "v1.11.5")],
    ["metal-installer", ["nvidia-fabricmanager"], "v1.12.6", 400, noSuch("nvidia-fabricmanager", "v1.12.6")],
    ["metal-installer", "b".repeat(64), "v1.12.6", 404, `schematic ID "${"b".repeat(64)}" not found\n`],
    ["metal-image", empty, "v1.12.6", 400, "invalid image: metal-image\n"],
    ["metal-installer", empty, "v1.99.0", 404, "version 1.99.0 is not available\n"],
  ])("%s of %j, %s: %d", async (image, of, tag, status, body) => {
    const schematic = typeof of === "string" ? of : factory.register(withExtensions(...of));
    const answer = await get(`/v2/${image}/${schematic}/manifests/${tag}`);
    expect([answer.status, status === 200 ? "" : await answer.text()]).toEqual([status, body]);
  });
});
