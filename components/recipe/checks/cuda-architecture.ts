import { architectureOf } from "../facts/card";
import type { Check } from "./check";
import { gpuRequests } from "../stack/workloads";
import { machinesFor } from "./placement";
import { cudaOfImage } from "../facts/cuda";
import { compareDotted } from "../facts/version";

/** Images that carry a framework built for fixed architectures, with no code that a newer driver could translate. */
const frameworks = /torch|comfy|vllm|tensorrt/i;

/** The CUDA of each image knows the cards' architecture already. */
export const cudaArchitecture: Check = {
  id: "cuda-architecture",
  source: "CUDA 12.8 release notes (first for Blackwell); PyTorch wheels hold no PTX for architectures to come",
  find: (context) =>
    gpuRequests(context.spec).flatMap((request) => {
      const cuda = request.image && frameworks.test(request.image) ? cudaOfImage(request.image) : undefined;
      if (!cuda) return [];
      const young = machinesFor(request, context)
        .flatMap((machine) => machine.cards.map((card) => ({ machine, card })))
        .find(({ card }) => compareDotted(cuda, architectureOf(card).firstCuda) < 0);
      if (!young) return [];
      return {
        field: `${request.field}.image`,
        problem: `its CUDA ${cuda} does not know the ${young.card.model} (${young.card.architecture}) of ${young.machine.name} yet`,
        why: "the image holds no code for the card: no kernel image is available for execution on the device",
        remedy: `take an image of CUDA ${architectureOf(young.card).firstCuda} or newer`,
      };
    }),
};
