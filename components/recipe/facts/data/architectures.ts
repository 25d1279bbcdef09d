/**
 * GPU architectures: which kernel modules drive them, and which drivers and CUDA releases know them.
 * Sources: README of NVIDIA's driver 580, "Open Linux Kernel Modules" (Blackwell: open modules only; before Turing there
 * is no GSP, so proprietary only); CUDA toolkit release notes (first and last CUDA of an architecture, last branch 580 for
 * Maxwell, Pascal and Volta); docs.nvidia.com/deploy/cuda-compatibility (drivers).
 */
import type { ModuleFlavour } from "../../spec/index";

/** An architecture of NVIDIA's, and what drives it. */
export interface Architecture {
  name: string;
  /** Flavours of the kernel modules that drive it; the first one is the default. */
  flavours: ModuleFlavour[];
  /** First CUDA that compiles for it, e.g. `12.8`. */
  firstCuda: string;
  /** Last CUDA major that supports it; undefined: the current one does. */
  lastCudaMajor?: number;
  /** Oldest driver that knows it. */
  minDriver: string;
  /** Last driver branch that knows it; undefined: the current one does. */
  lastDriverBranch?: number;
}

/** Every architecture that the cards have, oldest first. */
export const architectures: Architecture[] = [
  {
    name: "Maxwell",
    flavours: ["proprietary"],
    firstCuda: "6.5",
    lastCudaMajor: 12,
    minDriver: "343.22",
    lastDriverBranch: 580,
  },
  {
    name: "Pascal",
    flavours: ["proprietary"],
    firstCuda: "8.0",
    lastCudaMajor: 12,
    minDriver: "367.27",
    lastDriverBranch: 580,
  },
  {
    name: "Volta",
    flavours: ["proprietary"],
    firstCuda: "9.0",
    lastCudaMajor: 12,
    minDriver: "384.59",
    lastDriverBranch: 580,
  },
  { name: "Turing", flavours: ["open", "proprietary"], firstCuda: "10.0", minDriver: "410.48" },
  { name: "Ampere", flavours: ["open", "proprietary"], firstCuda: "11.0", minDriver: "450.80.02" },
  { name: "Ada", flavours: ["open", "proprietary"], firstCuda: "11.8", minDriver: "520.61.05" },
  { name: "Hopper", flavours: ["open", "proprietary"], firstCuda: "11.8", minDriver: "525.60.13" },
  { name: "Blackwell", flavours: ["open"], firstCuda: "12.8", minDriver: "570.86.10" },
];

/**
 * First driver whose open modules drive GeForce and workstation cards without `NVreg_OpenRmEnableUnsupportedGpus=1`.
 * Before it they load and find no device. Source: READMEs of drivers 515 to 535, "Open Linux Kernel Modules";
 * siderolabs/extensions#114.
 */
export const openModulesOnAllCards = "545.23.06";
