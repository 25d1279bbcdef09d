import type { Check } from "./check";
import { gpuRequests } from "../stack/workloads";
import { lastCudaOf } from "../facts/card";
import { machinesFor } from "./placement";
import { cudaFloor, cudaOfImage, isForwardCompatible, newerCuda } from "../facts/cuda";
import { compareDotted, majorOf } from "../facts/version";

/** Driver and card can run the CUDA of each image. */
export const cudaImage: Check = {
  id: "cuda-image",
  source:
    "docs.nvidia.com/deploy/cuda-compatibility, minor version and forward compatibility; CUDA 13 release notes (dropped architectures)",
  find: (context) => {
    const { spec, plan } = context;
    const images = [
      ...gpuRequests(spec).flatMap((request) =>
        request.image
          ? { field: `${request.field}.image`, image: request.image, gpuMachines: machinesFor(request, context) }
          : [],
      ),
      { field: "smokeTestImage", image: plan.kubernetes.smokeTestImage, gpuMachines: context.gpuMachines },
    ];
    return images.flatMap(({ field, image, gpuMachines }) => {
      const cuda = cudaOfImage(image);
      const floor = cuda && cudaFloor(cuda);
      if (!cuda || !floor) return [];
      // Of data-center cards a note tells (cuda-notes.ts).
      const old = gpuMachines.find((machine) => newerCuda(image, machine) && !isForwardCompatible(machine));
      if (old)
        return {
          field,
          problem: `its CUDA ${cuda} needs driver ${floor}, but ${old.name} runs ${old.driverVersion}`,
          why: "CUDA fails to initialize: the driver is insufficient for the runtime",
          remedy: `take an image of CUDA ${majorOf(cuda) - 1}, or ${spec.driver?.branch ? "another driver.branch or " : ""}a newer Talos release`,
        };
      const dropped = gpuMachines
        .flatMap((machine) => machine.cards.map((card) => ({ machine, card })))
        .find(({ card }) => compareDotted(majorOf(cuda).toString(), majorOf(lastCudaOf(card) ?? "99").toString()) > 0);
      if (!dropped) return [];
      return {
        field,
        problem: `its CUDA ${cuda} no longer knows the ${dropped.card.model} (${dropped.card.architecture}) of ${dropped.machine.name}`,
        why: "the image holds no code for the card: no kernel image is available for execution on the device",
        remedy: `take an image of CUDA ${lastCudaOf(dropped.card)} or older`,
      };
    });
  },
};
