import { lastCudaOf } from "./card";
import tables from "./data/cuda.json";
import type { MachineFacts } from "./machine-facts";
import { compareDotted, leastDotted, majorOf } from "./version";

const ofBranch: Record<string, string> = tables.ofBranch;
const floors: Record<string, string> = tables.floors;

/** Newest CUDA of a driver, e.g. `12.8` of 570.211.01; of the nearest older branch when the tables lack it. */
export function cudaOfDriver(driver: string): string {
  const older = Object.keys(ofBranch).filter((branch) => Number(branch) <= majorOf(driver));
  return ofBranch[Math.max(...older.map(Number))] ?? "0.0";
}

/**
 * Newest CUDA that every GPU machine runs, by driver and by card; `0.0` without a GPU machine whose driver is known.
 */
export function clusterCuda(machines: MachineFacts[]): string {
  const limits = machines.flatMap((machine) => [
    ...(machine.driverVersion ? [cudaOfDriver(machine.driverVersion)] : []),
    ...machine.cards.flatMap((card) => lastCudaOf(card) ?? []),
  ]);
  return leastDotted(limits) ?? "0.0";
}

/** Newest CUDA sample that runs on a CUDA; the oldest one when none does. */
export const smokeTestImage = (cuda: string): string => newestImage(tables.samples, cuda);

/** Oldest driver for an image of a CUDA release; undefined when the tables lack its major. */
export const cudaFloor = (cuda: string): string | undefined => floors[majorOf(cuda)];

/**
 * CUDA of an image and the driver that it asks for, where the machine's driver is older; undefined if it is not, or
 * that is unknown.
 */
export function newerCuda(
  image: string,
  { driverVersion }: Pick<MachineFacts, "driverVersion">,
): { cuda: string; floor: string } | undefined {
  const cuda = cudaOfImage(image);
  const floor = cuda && cudaFloor(cuda);
  return cuda && floor && driverVersion && compareDotted(driverVersion, floor) < 0
    ? { cuda, floor }
    : undefined;
}

/**
 * Whether the cards run a newer CUDA than their driver's by the package cuda-compat, which NVIDIA's images of CUDA
 * bring: data-center cards do, a GeForce ends with error 804. Source: docs.nvidia.com/deploy/cuda-compatibility,
 * forward compatibility; the variable NVIDIA_REQUIRE_CUDA of the images of CUDA 13.0, whose list begins with driver
 * 535.
 */
export const isForwardCompatible = ({ uses }: Pick<MachineFacts, "uses">): boolean =>
  uses.every(({ card }) => card?.family === "datacenter");

/**
 * CUDA release that an image's name tells, e.g. `12.4` of `:cu124-slim`, `:12.4.1-base`, `-cuda12.4`; undefined when it
 * tells none. Only the tag is read, and a bare version only for NVIDIA's own `cuda` images and vLLM's.
 */
export function cudaOfImage(image: string): string | undefined {
  const tag = /:([^:/@]+)(?:@.*)?$/.exec(image)?.[1] ?? "";
  const named =
    /(?:^|[^a-z])cuda[-_]?(\d{2})\.(\d+)/i.exec(tag) ??
    /(?:^|[^a-z])cu(\d{2})(\d)(?!\d)/i.exec(tag);
  const bare = /(?:^|\/)cuda:/.test(image) ? /^(\d{2})\.(\d+)/.exec(tag) : null;
  const found = named ?? bare;
  return found ? `${found[1]!}.${found[2]!}` : cudaOfVllmImage(image);
}

/** vLLM's tags name its own release; the table knows which CUDA that is built with, at least. */
function cudaOfVllmImage(image: string): string | undefined {
  const release = /(?:^|\/)vllm-openai:v?(\d+\.\d+\.\d+)/.exec(image)?.[1];
  return release && tables.ofVllm.find(({ from }) => compareDotted(release, from) >= 0)?.cuda;
}

/** vLLM's image for a driver's CUDA. */
export const vllmImage = (cuda: string): string =>
  `vllm/vllm-openai:${newestImage(tables.ofVllm, cuda)}`;

/**
 * ComfyUI's image for a driver's CUDA. CUDA 12's minor versions are compatible with every driver from 525 on
 * (docs.nvidia.com/deploy/cuda-compatibility), so the oldest image is the answer below 12.6 too.
 */
export const comfyUiImage = (cuda: string): string => newestImage(tables.ofComfyUi, cuda);

/** The newest image of a table that a CUDA runs; the oldest one when none does. */
function newestImage(table: { cuda: string; image: string }[], cuda: string): string {
  const fitting = table.find((row) => compareDotted(row.cuda, cuda) <= 0) ?? table.at(-1);
  if (!fitting) throw new Error("data/cuda.json: a table without an image");
  return fitting.image;
}
