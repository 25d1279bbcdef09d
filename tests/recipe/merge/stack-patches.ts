import { planCluster } from "../../../components/recipe";
import { validStack } from "../stacks";

/** The package's patches for a machine with a GPU, and one for a machine with an older release. */
export const stackPatches = [
  ...(planCluster(validStack("frank")).machines.find((machine) => machine.name === "gpu-1")
    ?.patches ?? []),
  'machine:\n  sysctls:\n    net.core.bpf_jit_harden: "1"\n', // a patch for Talos ≤ 1.11
];
