import { lastCudaOf } from "./card";
import tables from "./data/cuda.json";
import type { MachineFacts } from "./machine-facts";
import { compareDotted, leastDotted, majorOf } from "./version";

const ofBranch: Record<string, string> = tables.ofBranch;
const floors: Record<string, string> = tables.floors;

/**
 * Newest CUDA that a driver supports, e.g. `12.8` for 570.211.01. If the tables lack the driver's branch, the function
 * uses the nearest older branch.
 */
export function cudaOfDriver(driver: string): string {
  const older = Object.keys(ofBranch).filter((branch) => Number(branch) <= majorOf(driver));
  return ofBranch[Math.max(...older.map(Number))] ?? "0.0";
}

/**
 * Newest CUDA that the drivers and the cards of all GPU machines support; `0.0` if no driver is known, and no card
 * limits CUDA.
 */
export function clusterCuda(machines: MachineFacts[]): string {
  const limits = machines.flatMap((machine) => [
    ...(machine.driverVersion ? [cudaOfDriver(machine.driverVersion)] : []),
    ...machine.cards.flatMap((card) => lastCudaOf(card) ?? []),
  ]);
  return leastDotted(limits) ?? "0.0";
}

/** Image of the newest CUDA sample that runs with a CUDA release; the oldest sample if none runs. */
export const smokeTestImage = (cuda: string): string => newestImage(tables.samples, cuda);

/** Oldest driver for an image of a CUDA release; undefined if the tables lack the CUDA release's major. */
export const oldestDriverForCuda = (cuda: string): string | undefined => floors[majorOf(cuda)];

/**
 * If a machine's driver is too old for an image: the image's CUDA release, and the oldest driver for this CUDA release
 * (`floor`). Undefined if the driver is new enough, or if the driver, the CUDA release or the floor is unknown.
 */
export function newerCuda(
  image: string,
  { driverVersion }: Pick<MachineFacts, "driverVersion">,
): { cuda: string; floor: string } | undefined {
  const cuda = cudaOfImage(image);
  const floor = cuda && oldestDriverForCuda(cuda);
  return cuda && floor && driverVersion && compareDotted(driverVersion, floor) < 0
    ? { cuda, floor }
    : undefined;
}

/**
 * Whether the package cuda-compat in NVIDIA's CUDA images lets all cards of a machine run a newer CUDA than their
 * driver supports. The package does so on data-center cards. On a GeForce card programs fail with CUDA error 804.
 * Source: docs.nvidia.com/deploy/cuda-compatibility, forward compatibility; the variable NVIDIA_REQUIRE_CUDA of the
 * images of CUDA 13.0, whose list begins with driver 535.
 */
export const isForwardCompatible = ({ uses }: Pick<MachineFacts, "uses">): boolean =>
  uses.every(({ card }) => card?.family === "datacenter");

/**
 * CUDA release in an image's tag, e.g. `12.4` for `:cu124-slim`, `:12.4.1-base` or `-cuda12.4`; undefined if the tag
 * has none. A bare version is a CUDA release only in the tags of NVIDIA's `cuda` images. For vLLM's images the function
 * looks up the CUDA release by vLLM's version.
 */
export function cudaOfImage(image: string): string | undefined {
  const tag = /:([^:/@]+)(?:@.*)?$/.exec(image)?.[1] ?? "";
  const namedCuda =
    /(?:^|[^a-z])cuda[-_]?(\d{2})\.(\d+)/i.exec(tag) ??
    /(?:^|[^a-z])cu(\d{2})(\d)(?!\d)/i.exec(tag);
  const tagOfCudaImage = /(?:^|\/)cuda:/.test(image) ? /^(\d{2})\.(\d+)/.exec(tag) : null;
  const cudaMatch = namedCuda ?? tagOfCudaImage;
  return cudaMatch ? `${cudaMatch[1]!}.${cudaMatch[2]!}` : cudaOfVllmImage(image);
}

/**
 * CUDA of a vLLM image. The image's tag names a release of vLLM, and the table has the oldest CUDA with which this
 * release is built.
 */
function cudaOfVllmImage(image: string): string | undefined {
  const release = /(?:^|\/)vllm-openai:v?(\d+\.\d+\.\d+)/.exec(image)?.[1];
  return release && tables.ofVllm.find(({ from }) => compareDotted(release, from) >= 0)?.cuda;
}

/** Newest vLLM image for the CUDA release that a driver supports. */
export const vllmImage = (cuda: string): string =>
  `vllm/vllm-openai:${newestImage(tables.ofVllm, cuda)}`;

/**
 * Newest ComfyUI image for the CUDA release that a driver supports. Every driver from 525 on supports all minor
 * versions of CUDA 12 (docs.nvidia.com/deploy/cuda-compatibility), so below 12.6 the oldest image also works.
 */
export const comfyUiImage = (cuda: string): string => newestImage(tables.ofComfyUi, cuda);

/** The newest image of a table that works with a CUDA release; the oldest image if none does. */
function newestImage(table: { cuda: string; image: string }[], cuda: string): string {
  const fitting = table.find((row) => compareDotted(row.cuda, cuda) <= 0) ?? table.at(-1);
  if (!fitting) throw new Error("data/cuda.json: a table without an image");
  return fitting.image;
}
