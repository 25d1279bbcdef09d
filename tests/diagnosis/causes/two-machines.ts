import type { Observations } from "../../../components/diagnosis";
import { type CauseCase, type NamedCause } from "./case";
import { failingPod, healthy, operatorNode } from "./seen";

const cudaTooNew = "CUDA driver version is insufficient for CUDA runtime version";
const twoMachines: Observations = {
  machines: [{ name: "gpu-1", modules: ["drm"], driverVersion: null }],
  nodes: [
    { ...operatorNode(), name: "gpu-1" },
    { ...operatorNode(), name: "gpu-2" },
  ],
  pods: [failingPod("a", "gpu-1", cudaTooNew)],
};
const noModules: NamedCause = {
  cause: "kernelModules",
  evidence: ["gpu-1: no module nvidia is loaded"],
};

/** Two machines with different faults: the fault of one explains nothing on the other. */
export const twoMachineCases: CauseCase[] = [
  {
    name: "no CUDA on the machine without its modules, from which it follows",
    seen: { ...healthy, ...twoMachines },
    causes: [noModules],
  },
  {
    name: "no CUDA on no machine, which may follow",
    seen: { ...healthy, ...twoMachines, pods: [failingPod("a", null, cudaTooNew)] },
    causes: [noModules],
  },
  {
    name: "no CUDA on another machine than that without its modules",
    seen: { ...healthy, ...twoMachines, pods: [failingPod("a", "gpu-2", cudaTooNew)] },
    causes: [
      noModules,
      { cause: "cudaImage", evidence: ["Pod/a: CUDA driver version is insufficient"] },
    ],
  },
  {
    name: "no CUDA on both",
    seen: {
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
    name: "a cause that no fix prevents on the machine without its modules",
    seen: {
      ...healthy,
      ...twoMachines,
      pods: [failingPod("plugin", "gpu-1", "nvml init failed: ERROR_LIBRARY_NOT_FOUND")],
    },
    causes: ["kernelModules"],
  },
  {
    name: "a cause that no fix prevents on the other",
    seen: {
      ...healthy,
      ...twoMachines,
      pods: [failingPod("plugin", "gpu-2", "nvml init failed: ERROR_LIBRARY_NOT_FOUND")],
    },
    causes: ["kernelModules", "driverLibraries"],
  },
  {
    name: "an event, which is about the node of its pod",
    seen: {
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
    name: "a machine that does not boot to its end, which stands for itself alone",
    seen: {
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
