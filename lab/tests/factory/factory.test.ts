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

  test("is stable: canonical text is its own canonical text", () => {
    const once = readSchematic(withExtensions("zfs", "amd-ucode"));
    expect(once.extensions).toEqual(["siderolabs/zfs", "siderolabs/amd-ucode"]);
    expect(readSchematic(once.text)).toEqual(once);
  });

  test.each([
    ["something:", "yaml: construct errors: field something not found"],
    ["customization:\n  extensions: []", "yaml: construct errors: field extensions not found"],
    ["customization: {extraKernelArgs: foo}", 'cannot construct "foo"'],
    ["customization: {meta: [{key: 256, value: x}]}", "cannot construct 256"],
    ["customization: {bootloader: lilo}", 'cannot construct "lilo"'],
    ["owner: alice", "owner field is only supported in Enterprise edition"],
    ["", "EOF"],
    ["customization: [", "yaml: "],
  ])("refuses %j", (body, message) => {
    expect(() => readSchematic(body)).toThrow(message);
  });
});

describe("over HTTP", () => {
  let factory: Factory;
  beforeAll(async () => void (factory = await startFactory()));
  afterAll(() => factory.close());

  const get = (path: string): Promise<Response> => fetch(factory.url + path);
  const post = (body: string): Promise<Response> => fetch(`${factory.url}/schematics`, { method: "POST", body });

  test("registers a schematic, twice the same, and gives it back", async () => {
    // No such extension: that is not found here.
    const body = withExtensions("nvidia-driver");
    const first = await post(body);
    expect(first.status).toBe(201);
    const { id, schematic } = (await first.json()) as { id: string; schematic: string };
    expect(schematic).toContain("            - siderolabs/nvidia-driver\n");
    expect(((await (await post(body)).json()) as { id: string }).id).toBe(id);
    const known = await get(`/schematics/${id}`);
    expect([known.headers.get("content-type"), await known.text()]).toEqual(["application/yaml", schematic]);
    expect(factory.schematics().get(id)?.text).toBe(schematic);
    expect(factory.requests()).toMatchObject({ "POST /schematics": 2, "GET /schematics/:schematic": 1 });
  });

  test("knows the plain schematic, and says of others that it does not", async () => {
    expect((await get(`/schematics/${empty}`)).status).toBe(200);
    const unknown = await get(`/schematics/${"a".repeat(64)}`);
    expect([unknown.status, await unknown.text()]).toEqual([404, "schematic not found\n"]);
  });

  test("answers an unknown field with plain text", async () => {
    const refused = await post("something:");
    expect([refused.status, refused.headers.get("content-type"), await refused.text()]).toEqual([
      400,
      "text/plain; charset=utf-8",
      "yaml: construct errors: field something not found in type schematic\n",
    ]);
  });

  test("lists releases", async () => {
    const versions = (await (await get("/versions")).json()) as string[];
    expect(versions).toEqual(expect.arrayContaining(["v1.11.5", "v1.12.6", "v1.13.9"]));
    expect(new Set(versions).size).toBe(versions.length);
    expect(await (await get("/versions?broken=true")).json()).toEqual([]);
  });

  test.each([
    ["v1.12.6", "nvidia-open-gpu-kernel-modules-production", "570.211.01-v1.12.6"],
    ["1.12.6", "nvidia-container-toolkit-production", "570.211.01-v1.18.2"],
    ["v1.11.5", "nonfree-kmod-nvidia-production", "570.172.08-v1.11.5"],
    ["v1.13.9", "nvidia-container-toolkit-lts", "580.178.04-v1.19.1"],
    ["v1.13.9", "nvidia-fabricmanager-production", "595.91.07"],
  ])("Talos %s has %s:%s", async (talos, name, tag) => {
    const list = (await (await get(`/version/${talos}/extensions/official`)).json()) as Record<string, string>[];
    expect(list).toContainEqual({
      name: `siderolabs/${name}`,
      ref: `ghcr.io/siderolabs/${name}:${tag}`,
      digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      author: expect.any(String),
      description: expect.any(String),
    });
    expect(new Set(list.map((each) => each["name"])).size).toBe(list.length);
  });

  test.each([
    ["v1.99.0", 404, "version 1.99.0 is not available\n"],
    ["newest", 500, "internal server error\n"],
  ])("extensions of %s: %d", async (version, status, body) => {
    const answer = await get(`/version/${version}/extensions/official`);
    expect([answer.status, await answer.text()]).toEqual([status, body]);
  });

  describe("installer images", () => {
    const manifest = (image: string, id: string, tag: string): Promise<Response> =>
      get(`/v2/${image}/${id}/manifests/${tag}`);
    const id = (...names: string[]): string => factory.register(withExtensions(...names));

    test.each(["installer", "metal-installer", "nocloud-installer-secureboot"])("%s is there", async (image) => {
      const answer = await manifest(image, id("nvidia-gdrdrv-device"), "v1.12.6");
      expect(answer.status).toBe(200);
      expect(answer.headers.get("docker-content-digest")).toMatch(/^sha256:/);
    });

    test.each([
      ["invented", "nvidia-driver", "v1.12.6"],
      ["of a later release", "nvidia-gdrdrv-device", "v1.11.5"],
      ["whose alias leads nowhere", "nvidia-fabricmanager", "v1.12.6"],
    ])("an extension %s is refused", async (_why, name, tag) => {
      const answer = await manifest("metal-installer", id(name), tag);
      const message = `official extension "siderolabs/${name}" is not available for Talos version ${tag}\n`;
      expect([answer.status, await answer.text()]).toEqual([400, message]);
    });

    test("an old name stands for the lts branch", async () => {
      const old = id("nvidia-container-toolkit", "nvidia-open-gpu-kernel-modules", "nonfree-kmod-nvidia");
      expect((await manifest("metal-installer", old, "v1.12.6")).status).toBe(200);
    });

    test.each([
      ["metal-installer", "b".repeat(64), "v1.12.6", 404, `schematic ID "${"b".repeat(64)}" not found\n`],
      ["metal-image", empty, "v1.12.6", 400, "invalid image: metal-image\n"],
      ["metal-installer", empty, "v1.99.0", 404, "version 1.99.0 is not available\n"],
    ])("%s/%s:%s answers %d", async (image, schematic, tag, status, body) => {
      const answer = await manifest(image, schematic, tag);
      expect([answer.status, await answer.text()]).toEqual([status, body]);
    });
  });

  test("answers what it does not know, and other methods", async () => {
    expect((await get("/nothing")).status).toBe(404);
    expect((await fetch(`${factory.url}/versions`, { method: "POST" })).status).toBe(405);
    expect((await post("x".repeat(2 * 1024 * 1024))).status).toBe(413);
  });
});

test("takes the releases and schematics that it is given, and frees its port", async () => {
  const factory = await startFactory({ versions: ["v1.12.6"], schematics: [withExtensions("zfs")] });
  expect(factory.schematics().size).toBe(2);
  expect(await (await fetch(`${factory.url}/versions`)).json()).toEqual(["v1.12.6"]);
  expect((await fetch(`${factory.url}/version/v1.12.5/extensions/official`)).status).toBe(404);
  await factory.close();
  await expect(fetch(`${factory.url}/versions`)).rejects.toThrow();
});
