import { type Factory, startFactory } from "../../factory";
import { readSchematic } from "../../factory/schematic";
import { sendAllRequests } from "./send-requests";

const withExtensions = (...names: string[]): string =>
  JSON.stringify({
    customization: {
      systemExtensions: { officialExtensions: names.map((name) => `siderolabs/${name}`) },
    },
  });

let factory: Factory;
afterEach(() => factory?.close());

test("the lab's Image Factory gives the recorded answers of the real one", async () => {
  factory = await startFactory({ versions: ["v1.13.0"] });
  const { answers, recordedAnswers } = await sendAllRequests(factory.url, "v1.13.0", true);
  expect(answers).toEqual(recordedAnswers);
});

test("the lab's Image Factory knows the fields that its release v1.3 added, and refuses an unknown field", () => {
  // The ID is from the Factory's own tests: siderolabs/image-factory, pkg/schematic/schematic_test.go.
  const { id } = readSchematic("customization: {diskImage: {sectorSize: 4096}, bootloader: none}");
  expect(id).toBe("92833e9ddd9bb9e11b2464fa5525429f01866306d52ebd882ee08d7918f6d1ea");
  expect(() => readSchematic("owner: root")).toThrow("owner");
});

// Only some Talos releases have an extension. An extension's old name means its lts branch.
test.each([
  ["metal-installer", ["nvidia-gdrdrv-device"], "v1.12.6", 200],
  [
    "nocloud-installer-secureboot",
    ["nvidia-container-toolkit", "nonfree-kmod-nvidia"],
    "v1.12.6",
    200,
  ],
  ["metal-installer", ["nvidia-driver"], "v1.12.6", 400],
  ["metal-installer", ["nvidia-gdrdrv-device"], "v1.11.5", 400],
])(
  "a request for %s with the extensions %j and the tag %s is answered with status %d",
  async (image, names, tag, status) => {
    factory = await startFactory();
    const response = await fetch(
      `${factory.url}/v2/${image}/${factory.register(withExtensions(...names))}/manifests/${tag}`,
    );
    expect(response.status).toBe(status);
  },
);

test.each([
  ["v1.12.6", "nvidia-open-gpu-kernel-modules-production", "570.211.01-v1.12.6"],
  ["1.12.6", "nvidia-container-toolkit-production", "570.211.01-v1.18.2"],
  ["v1.11.5", "nonfree-kmod-nvidia-production", "570.172.08-v1.11.5"],
  ["v1.13.9", "nvidia-container-toolkit-lts", "580.178.04-v1.19.1"],
  ["v1.13.9", "nvidia-fabricmanager-production", "595.91.07"],
])("for Talos %s, the Image Factory lists %s:%s, and no name twice", async (talos, name, tag) => {
  factory = await startFactory();
  const extensions = (await (
    await fetch(`${factory.url}/version/${talos}/extensions/official`)
  ).json()) as Record<string, string>[];
  expect(extensions).toContainEqual(
    expect.objectContaining({
      name: `siderolabs/${name}`,
      ref: `ghcr.io/siderolabs/${name}:${tag}`,
    }),
  );
  expect(new Set(extensions.map((extension) => extension["name"])).size).toBe(extensions.length);
});
