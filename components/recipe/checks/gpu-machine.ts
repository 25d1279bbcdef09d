import type { Check } from "./check";

/** A stack has a machine with a GPU. */
export const gpuMachine: Check = {
  id: "gpu-machine",
  source: "the GPU Operator and the device plugin do nothing without a GPU node, and report success",
  find: ({ gpuMachines }) =>
    gpuMachines.length > 0
      ? []
      : {
          field: "machines",
          problem: "no machine has a GPU",
          why: "everything would be installed, nothing would ever offer a GPU, and no gate could be passed",
          remedy: "name the cards of at least one machine, e.g. `gpus: [{ model: RTX 4090 }]`",
        },
};
