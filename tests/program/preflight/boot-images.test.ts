import type { RunningImage } from "../../../components/recipe/machine/losses";
import type { Answer } from "../../../components/program/preflight/web";
import { schematics } from "../fakes";
import { runPreflight } from "./run-preflight";

/** The layers' sizes are invented. The partitions' sizes are those of Talos before 1.11, and of later releases. */
const MIB = 2 ** 20;
const smallPartitionBytes = 1101 * MIB;

/** Answers of an Image Factory for an image: a list for two architectures, then an image for each. */
function factoryAnswers(
  schematic: string,
  talosVersion: string,
  sizes: { amd64: number; arm64: number },
  installer = "metal-installer",
): Record<string, Answer> {
  const baseUrl = `https://factory.talos.dev/v2/${installer}/${schematic}/manifests/`;
  const digest = (arch: string): string => `sha256:${arch}-${talosVersion}`;
  const jsonAnswer = (value: unknown): Answer => ({ status: 200, body: JSON.stringify(value) });
  return {
    [`${baseUrl}${talosVersion}`]: jsonAnswer({
      manifests: [{ digest: digest("amd64") }, { digest: digest("arm64") }],
    }),
    ...Object.fromEntries(
      Object.entries(sizes).map(([arch, mebibytes]) => [
        `${baseUrl}${digest(arch)}`,
        jsonAnswer({ layers: [{ size: 30 * MIB }, { size: mebibytes * MIB }] }),
      ]),
    ),
  };
}

const runningImage = (changes: Partial<RunningImage> = {}): RunningImage => ({
  extensions: { schematic: schematics.other },
  configuredArgs: [],
  platform: "metal",
  secureBoot: false,
  bootPartition: { name: "EFI", bytes: smallPartitionBytes },
  ...changes,
});
const answersForNextImage = (mebibytes: number) =>
  factoryAnswers(schematics.gpu, "v1.12.6", { amd64: mebibytes, arm64: mebibytes + 50 });
const answersForRunningImage = (mebibytes: number) =>
  factoryAnswers(schematics.other, "v1.12.4", { amd64: mebibytes, arm64: mebibytes + 50 });

test("the preflight refuses an image for which the boot partition has no room next to the running one", async () => {
  const { outcome } = await runPreflight({
    machine: { runningImage: runningImage() },
    webByUrl: { ...answersForRunningImage(500), ...answersForNextImage(602) },
  });
  expect(outcome).toEqual([
    expect.stringMatching(
      /^machines\.gpu-1: its boot partition EFI has 1101 MiB, which cannot hold both the running image of v1\.12\.4 \(500 MiB\) and the new image of v1\.12\.6 \(602 MiB\); .*; remove extensions .*/,
    ),
  ]);
});

/** Changes of a running image; undefined removes a field. */
type Changes = { [part in keyof RunningImage]?: RunningImage[part] | undefined };
test.each<[string, Changes, Record<string, Answer>]>([
  [
    "the partition holds both images",
    {},
    { ...answersForRunningImage(500), ...answersForNextImage(601) },
  ],
  [
    "the partition is one of Talos 1.11 or newer",
    { bootPartition: { name: "EFI", bytes: 2101 * MIB } },
    { ...answersForRunningImage(900), ...answersForNextImage(900) },
  ],
  [
    "the machine reports no size of its boot partition",
    { bootPartition: undefined },
    answersForNextImage(2_000),
  ],
  ["the Factory does not have the sizes", {}, {}],
  [
    "the Factory's answer has one layer",
    {},
    Object.fromEntries(
      Object.entries(answersForNextImage(2_000)).map(([url, answer]) => [
        url,
        url.includes("sha256:") ? { status: 200, body: '{"layers":[{"size":1}]}' } : answer,
      ]),
    ),
  ],
  [
    "the Factory answers with a page",
    {},
    Object.fromEntries(
      Object.keys(answersForNextImage(1)).map((url) => [url, { status: 200, body: "<html>" }]),
    ),
  ],
])("the preflight accepts the image if %s", async (_, changes, webByUrl) => {
  const { outcome } = await runPreflight({
    machine: { runningImage: runningImage(changes as RunningImage) },
    webByUrl,
  });
  expect(outcome).toHaveProperty("machines");
});

test("the preflight refuses an image that alone is larger than the boot partition, whatever runs", async () => {
  const partition = { name: "BOOT" as const, bytes: 1000 * MIB };
  const { outcome } = await runPreflight({
    machine: { runningImage: runningImage({ bootPartition: partition, extensions: {} }) },
    webByUrl: answersForNextImage(1_001),
  });
  expect(outcome).toEqual([
    expect.stringContaining(
      "its boot partition BOOT has 1000 MiB, which cannot hold the image of v1.12.6 (1001 MiB);",
    ),
  ]);
});

test("the preflight asks for the running image under the name of its Secure Boot variant", async () => {
  const { requestedUrls } = await runPreflight({
    machine: { runningImage: runningImage({ secureBoot: true }) },
    machines: [
      { installerImage: `factory.talos.dev/metal-installer-secureboot/${schematics.gpu}:v1.12.6` },
    ],
  });
  expect(requestedUrls).toContain(
    `https://factory.talos.dev/v2/metal-installer-secureboot/${schematics.other}/manifests/v1.12.4`,
  );
});

test("the preflight compares each image with the previous one if the upgrade goes over several minors", async () => {
  const { outcome } = await runPreflight({
    machine: { runningImage: runningImage(), talosVersion: "v1.10.9" },
    webByUrl: {
      "https://factory.talos.dev/versions": {
        status: 200,
        body: JSON.stringify(["v1.10.9", "v1.11.6", "v1.12.6"]),
      },
      ...factoryAnswers(schematics.other, "v1.10.9", { amd64: 400, arm64: 400 }),
      ...factoryAnswers(schematics.gpu, "v1.11.6", { amd64: 600, arm64: 600 }),
      ...answersForNextImage(600),
    },
  });
  expect(outcome).toContainEqual(
    expect.stringContaining(
      "which cannot hold both the running image of v1.11.6 (600 MiB) and the new image of v1.12.6 (600 MiB);",
    ),
  );
});

test("the preflight requests no sizes of images if the machine already runs the image", async () => {
  const { requestedUrls } = await runPreflight({
    machine: {
      runningImage: runningImage({ extensions: { schematic: schematics.gpu } }),
      schematicId: schematics.gpu,
      talosVersion: "v1.12.6",
    },
    webByUrl: { ...answersForNextImage(2_000) },
  });
  expect(requestedUrls.filter((url) => url.includes("sha256:"))).toEqual([]);
});
