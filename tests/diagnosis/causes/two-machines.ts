import type { Observations } from "../../../components/diagnosis";
import { type CauseCase, type CauseWithEvidence } from "./case";
import { failingPod, healthy, operatorNode } from "./observations";

const cudaTooNew = "CUDA driver version is insufficient for CUDA runtime version";
const twoMachines: Observations = {
  machines: [{ name: "gpu-1", modules: ["drm"], driverVersion: null }],
  nodes: [
    { ...operatorNode(), name: "gpu-1" },
    { ...operatorNode(), name: "gpu-2" },
  ],
  pods: [failingPod("a", "gpu-1", cudaTooNew)],
};
const noModules: CauseWithEvidence = {
  cause: "kernelModules",
  evidence: ["gpu-1: no module nvidia is loaded"],
};

/** Two machines with different faults: the fault of one explains nothing on the other. */
export const twoMachineCases: CauseCase[] = [
  {
    name: "a pod without CUDA on the machine without modules, which explains it",
    observations: { ...healthy, ...twoMachines },
    causes: [noModules],
  },
  {
    name: "a pod without CUDA on no machine, which the missing modules may explain",
    observations: { ...healthy, ...twoMachines, pods: [failingPod("a", null, cudaTooNew)] },
    causes: [noModules],
  },
  {
    name: "a pod without CUDA on the machine that has its modules",
    observations: { ...healthy, ...twoMachines, pods: [failingPod("a", "gpu-2", cudaTooNew)] },
    causes: [
      noModules,
      { cause: "cudaImage", evidence: ["Pod/a: CUDA driver version is insufficient"] },
    ],
  },
  {
    name: "a pod without CUDA on each machine",
    observations: {
      ...healthy,
      ...twoMachines,
      pods: [failingPod("a", "gpu-1", cudaTooNew), failingPod("b", "gpu-2", cudaTooNew)],
    },
    causes: [
      noModules,
      { cause: "cudaImage", evidence: ["Pod/b: CUDA driver version is insufficient"] },
    ],
  },
  {
    name: "missing driver libraries on the machine without modules",
    observations: {
      ...healthy,
      ...twoMachines,
      pods: [failingPod("plugin", "gpu-1", "nvml init failed: ERROR_LIBRARY_NOT_FOUND")],
    },
    causes: ["kernelModules"],
  },
  {
    name: "missing driver libraries on the machine that has its modules",
    observations: {
      ...healthy,
      ...twoMachines,
      pods: [failingPod("plugin", "gpu-2", "nvml init failed: ERROR_LIBRARY_NOT_FOUND")],
    },
    causes: ["kernelModules", "driverLibraries"],
  },
  {
    name: "an event about a pod on the machine that has its modules",
    observations: {
      ...healthy,
      ...twoMachines,
      pods: [{ namespace: "ollama", name: "a", phase: "Pending", node: "gpu-2" }],
      events: [
        {
          namespace: "ollama",
          object: "Pod/a",
          reason: "FailedPostStartHook",
          message:
            "PostStartHookError: nvidia-container-cli: initialization error: init 250 result=11",
        },
      ],
    },
    causes: ["kernelModules", "modelsPull"],
  },
  {
    name: "a machine that does not finish its boot, which explains nothing on the other",
    observations: {
      ...healthy,
      ...twoMachines,
      pods: [failingPod("a", "gpu-2", cudaTooNew)],
      machines: [
        { name: "gpu-1", modules: ["drm"], driverVersion: null },
        {
          name: "gpu-2",
          repeatedFiles: ["/etc/cri/conf.d/20-customization.part"],
          modules: ["drm"],
        },
      ],
    },
    causes: ["perMachinePatch", noModules],
  },
];
