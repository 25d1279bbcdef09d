import { planCluster } from "../../../components/recipe";
import { validStack } from "../stacks";

/** Patches that the recipe has for a machine with a GPU, and one that a machine of an older release gets. */
export const ours = [
  ...(planCluster(validStack("frank")).machines.find((machine) => machine.name === "gpu-1")
    ?.patches ?? []),
  'machine:\n  sysctls:\n    net.core.bpf_jit_harden: "1"\n', // as on Talos ≤ 1.11
];
