/**
 * NVIDIA's chips: architecture by name, compute capability by chip.
 * Source: developer.nvidia.com/cuda-gpus and cuda-legacy-gpus; CUDA 12.8 and 12.9 release notes (10.0, 12.0; 10.3, 12.1).
 */

/** Architecture by the first two letters of a chip's name. */
export const architectureOfLetters: Record<string, string> = {
  GM: "Maxwell",
  GP: "Pascal",
  GV: "Volta",
  TU: "Turing",
  GA: "Ampere",
  AD: "Ada",
  GH: "Hopper",
  GB: "Blackwell",
};

/** Compute capability of chips, the first row whose letters a chip's name begins with. */
export const capabilities: [start: string, computeCapability: string][] = [
  ["GM10", "5.0"],
  ["GM20", "5.2"],
  ["GP100", "6.0"],
  ["GP10", "6.1"],
  ["GV100", "7.0"],
  ["TU1", "7.5"],
  ["GA100", "8.0"],
  ["GA10", "8.6"],
  ["AD1", "8.9"],
  ["GH100", "9.0"],
  ["GB10", "10.0"],
  ["GB11", "10.3"],
  ["GB20B", "12.1"],
  ["GB20", "12.0"],
];

/**
 * Chips of which data-center and workstation cards have MIG, so that a card of theirs that the tables do not know more of
 * may have it. Source: NVIDIA MIG user guide, supported GPUs.
 */
export const chipsWithMig = ["GA100", "GH100", "GB100", "GB102", "GB110", "GB202"];

/**
 * Cards with MIG, by their name in the list of PCI IDs, whose chip is in cards without MIG too. Source: NVIDIA MIG user guide, edition
 * 610, supported GPUs; NVIDIA AI Enterprise 8, vGPU types of Blackwell (Server Edition).
 */
export const cardsWithMig = ["RTX PRO 4500 Blackwell", "RTX PRO 4500 Blackwell Server Edition"];

/**
 * Cards that NVIDIA drives with the open kernel modules alone, although their chip is in cards that take either: of Grace Hopper. Source:
 * developer.nvidia.com/blog/nvidia-transitions-fully-towards-open-source-gpu-kernel-modules (Grace Hopper and Blackwell must use the
 * open modules).
 */
export const openModulesOnly = /\bGH200\b/;

/** Oldest driver where a chip needs a newer one than its architecture. Source: CUDA 12.9 release notes (first for 10.3). */
export const minDriverOfChip: Record<string, string> = { GB110: "575.51.03", GB20B: "580.65.06" };
