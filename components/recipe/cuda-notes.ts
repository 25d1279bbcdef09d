import { isForwardCompatible, newerCuda } from "./facts/cuda";
import type { MachineFacts } from "./facts/machine-facts";
import type { ClusterSpec } from "./spec/index";
import { gpuRequests } from "./stack/workloads";

/** Images whose CUDA is newer than a driver, where NVIDIA's forward compatibility may run them all the same. */
export function cudaNotes(spec: ClusterSpec, facts: MachineFacts[]): string[] {
  const images = [
    ...gpuRequests(spec).map(({ field, image }) => ({ field: `${field}.image`, image })),
    { field: "smokeTestImage", image: spec.smokeTestImage },
  ];
  return images.flatMap(({ field, image }) => {
    if (image === undefined) return [];
    const older = facts.filter((machine) => newerCuda(image, machine) && isForwardCompatible(machine));
    const [first] = older;
    if (first === undefined) return [];
    const drivers = older.map(({ name, driverVersion }) => `${name} (${driverVersion})`).join(", ");
    const { cuda } = newerCuda(image, first)!;
    return [
      `${field}: its CUDA ${cuda} is newer than the driver of ${drivers}; data-center cards run it where the image has NVIDIA's package cuda-compat, as NVIDIA's own images do; without it CUDA fails to initialize`,
    ];
  });
}
