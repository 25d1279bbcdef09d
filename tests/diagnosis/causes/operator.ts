import type {
  Observations,
  ObservedMachine,
  ObservedNode,
  ObservedPod,
} from "../../../components/diagnosis";
import { type CauseCase, withoutStack } from "./case";
import { failingPod, healthy, healthyMachine, operatorNode, waitingPod } from "./observations";

const nodeWithValidator: ObservedNode = operatorNode({
  "nvidia.com/gpu.deploy.operator-validator": "true",
});
const nodeOnTalos113: Observations = {
  daemonSets: [],
  machines: [],
  nodes: [{ ...operatorNode(), osImage: "Talos (v1.13.0)" }],
};
const labelOfNoNode = { "node-role.kubernetes.io/gpu": "true" };
const plainSchematic = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba";
const plainImage: ObservedMachine = {
  ...healthyMachine,
  schematicId: plainSchematic,
  modules: [],
  driverVersion: null,
};
const storageMachine: ObservedMachine[] = [{ ...plainImage, name: "cp-1", modules: ["zfs"] }];
const migManagerPod: ObservedPod = {
  namespace: "nvidia-gpu-operator",
  name: "nvidia-mig-manager-x",
  phase: "Running",
  node: "k8s-worker4",
  containers: [{ name: "nvidia-mig-manager", state: "running", ready: true }],
};
const endlessBoot: Observations = {
  nodes: [{ ...operatorNode(), ready: false }],
  machines: [
    {
      name: "k8s-worker4",
      talosVersion: "v1.12.6",
      stage: "booting",
      modules: ["drm"],
      bootErrors: [
        "[talos] resource EtcFileSpecs.files.talos.dev(files/cri/conf.d/20-customization.part@undefined) already exists",
      ],
    },
  ],
};
const noCards = "power limit: nvidia-smi cannot switch persistence mode on: is the driver loaded?";
const noRuntime =
  'unable to get OCI runtime for sandbox "x": no runtime for "nvidia" is configured';

/** Faults of a system with the operator that is otherwise healthy. */
export const operatorCases: CauseCase[] = [
  {
    name: "a waiting validator on a node without the label that removes it",
    observations: {
      ...healthy,
      nodes: [nodeWithValidator],
      pods: [...healthy.pods, waitingPod("nvidia-operator-validator-x", "driver-validation")],
    },
    stacks: ["rtx5070ti", withoutStack],
    causes: ["operatorValidatorLabel"],
  },
  {
    name: "a waiting validator on a node whose label is about to remove it",
    observations: {
      ...healthy,
      pods: [...healthy.pods, waitingPod("nvidia-operator-validator-x", "driver-validation")],
    },
    stacks: ["rtx5070ti", withoutStack],
    causes: [],
  },
  {
    name: "the label that removes the validator, still on a node that runs Talos 1.13",
    observations: {
      ...healthy,
      ...nodeOnTalos113,
      pods: [...healthy.pods, waitingPod("nvidia-device-plugin-daemonset-x", "toolkit-validation")],
    },
    causes: ["operatorValidatorLabel"],
  },
  {
    name: "no label that removes the validator, on a node that runs Talos 1.13",
    observations: {
      ...healthy,
      ...nodeOnTalos113,
      nodes: [{ ...nodeWithValidator, osImage: "Talos (v1.13.0)" }],
      pods: [...healthy.pods, waitingPod("nvidia-device-plugin-daemonset-x", "toolkit-validation")],
    },
    causes: [],
  },
  {
    name: "a postStart hook that fails",
    observations: {
      ...healthy,
      events: [
        {
          namespace: "ollama",
          object: "Pod/ollama-x",
          reason: "FailedPostStartHook",
          message:
            "PostStartHookError: rpc error: failed to exec in container: nvidia-container-cli: initialization error: init 250 result=11: unknown",
        },
      ],
    },
    stacks: ["rtx5070ti", withoutStack],
    causes: ["modelsPull"],
  },
  {
    name: "a postStart hook that fails, in another wording",
    observations: {
      ...healthy,
      events: [
        {
          namespace: "ollama",
          object: "Pod/ollama-x",
          reason: "FailedPostStartHook",
          message:
            "Exec lifecycle hook failed: nvidia-container-cli: initialization error: init 250 result=11",
        },
      ],
    },
    stacks: ["rtx5070ti", withoutStack],
    causes: ["modelsPull"],
  },
  {
    name: "`init 250` in a log without a hook that fails, which is harmless",
    observations: {
      ...healthy,
      events: [
        {
          namespace: "ollama",
          object: "Pod/ollama-x",
          reason: "Started",
          message: "init 250 result=11",
        },
      ],
    },
    stacks: ["rtx5070ti", withoutStack],
    causes: [],
  },
  {
    name: "a postStart hook that fails because of a full disk",
    observations: {
      ...healthy,
      events: [
        {
          object: "Pod/x",
          message:
            "PostStartHookError: command '[/bin/sh -c x]' exited with 1: no space left on device",
        },
      ],
    },
    stacks: ["rtx5070ti", withoutStack],
    causes: [],
  },
  {
    name: "a selector that fits no node, and the pods that wait for its DaemonSet",
    observations: {
      ...healthy,
      daemonSets: [
        {
          namespace: "nvidia-gpu-operator",
          name: "nvidia-validation-markers",
          desired: 0,
          ready: 0,
          nodeSelector: labelOfNoNode,
        },
      ],
      pods: [...healthy.pods, waitingPod("nvidia-device-plugin-daemonset-x", "toolkit-validation")],
    },
    stacks: ["rtx5070ti", withoutStack],
    causes: [
      {
        cause: "nodeSelector",
        evidence: [
          "DaemonSet/nvidia-validation-markers wants 0 pods: no node has node-role.kubernetes.io/gpu=true",
        ],
      },
    ],
  },
  {
    name: "a selector that fits no node, and a pod that stays Pending",
    observations: {
      ...healthy,
      pods: [
        ...healthy.pods,
        {
          namespace: "ollama",
          name: "ollama-x",
          phase: "Pending",
          gpus: true,
          nodeSelector: labelOfNoNode,
        },
      ],
    },
    stacks: ["rtx5070ti", withoutStack],
    causes: ["nodeSelector"],
  },
  {
    name: "a pod without a GPU whose selector fits no node",
    observations: {
      ...healthy,
      pods: [
        ...healthy.pods,
        { namespace: "web", name: "x", phase: "Pending", gpus: false, nodeSelector: labelOfNoNode },
      ],
    },
    stacks: ["rtx5070ti", withoutStack],
    causes: [],
  },
  {
    name: "the planned Talos version with another image than the configuration names",
    observations: { ...healthy, machines: [plainImage] },
    stacks: ["rtx5070ti", withoutStack],
    causes: ["schematic"],
  },
  {
    name: "an unplanned image on a machine that is not upgraded yet",
    observations: { ...healthy, machines: [{ ...plainImage, talosVersion: "v1.12.5" }] },
    stacks: ["rtx5070ti"],
    causes: [],
  },
  {
    name: "an unplanned image from `talosctl upgrade`, with the driver",
    observations: { ...healthy, machines: [{ ...plainImage, modules: ["nvidia"] }] },
    stacks: ["rtx5070ti", withoutStack],
    causes: [],
  },
  {
    name: "an unplanned image on a machine without a card",
    observations: {
      ...healthy,
      nodes: [operatorNode(), { name: "cp-1", labels: {} }],
      machines: storageMachine,
    },
    causes: [],
  },
  {
    name: "an unplanned image on a machine with a card",
    observations: {
      ...healthy,
      nodes: [operatorNode(), { name: "cp-1", labels: { "nvidia.com/gpu.present": "true" } }],
      machines: storageMachine,
    },
    causes: ["schematic"],
  },
  {
    name: "an unplanned image on a machine of Omni's",
    observations: { ...healthy, machines: [{ ...plainImage, name: "gpu-1", modules: ["nvidia"] }] },
    stacks: ["omni"],
    causes: [],
  },
  {
    name: "a machine of Omni's without its modules",
    observations: {
      ...healthy,
      machines: [
        { ...{ ...healthyMachine, name: "gpu-1" }, schematicId: plainSchematic, modules: [] },
      ],
    },
    stacks: ["omni"],
    causes: ["kernelModules"],
  },
  {
    name: "a machine that is not the stack's",
    observations: {
      ...healthy,
      machines: [
        {
          ...{ ...healthyMachine, name: "somebody-else" },
          schematicId: plainSchematic,
          modules: [],
        },
      ],
    },
    stacks: ["omni"],
    causes: ["schematic"],
  },
  {
    name: "modules and toolkit of two drivers, according to the node's labels",
    observations: {
      ...healthy,
      nodes: [
        {
          name: "k8s-worker4",
          osImage: "Talos (v1.12.6)",
          ready: true,
          allocatable: {},
          labels: {
            "extensions.talos.dev/nvidia-open-gpu-kernel-modules-lts": "580.126.09-v1.12.6",
            "extensions.talos.dev/nvidia-container-toolkit-production": "570.211.01-v1.18.2",
          },
        },
      ],
    },
    stacks: ["rtx5070ti", withoutStack],
    causes: ["driverBranches"],
  },
  {
    name: "modules and toolkit of two drivers, according to the runtime's error",
    observations: {
      ...healthy,
      pods: [
        ...healthy.pods,
        failingPod(
          "x",
          "k8s-worker4",
          "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown",
        ),
      ],
    },
    stacks: ["rtx5070ti", withoutStack],
    causes: ["driverBranches"],
  },
  {
    name: "a CUDA that is newer than the driver, according to the program's error",
    observations: {
      ...healthy,
      pods: [
        ...healthy.pods,
        failingPod(
          "x",
          "k8s-worker4",
          "Failed to allocate device vector A (error code CUDA driver version is insufficient for CUDA runtime version)!",
        ),
      ],
    },
    stacks: ["rtx5070ti", withoutStack],
    causes: ["cudaImage"],
  },
  {
    name: "a CUDA that is newer than the driver, according to the runtime's error",
    observations: {
      ...healthy,
      pods: [
        ...healthy.pods,
        failingPod(
          "x",
          "k8s-worker4",
          "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0, please update your driver",
        ),
      ],
    },
    stacks: ["rtx5070ti", withoutStack],
    causes: ["cudaImage"],
  },
  {
    name: "shared memory that is too small for a model over several cards",
    observations: {
      ...healthy,
      pods: [
        ...healthy.pods,
        failingPod(
          "vllm-group-0",
          "twin-1",
          "NCCL WARN Error: failed to extend /dev/shm/nccl-03v824 to 4194660 bytes",
        ),
      ],
    },
    stacks: ["large", withoutStack],
    causes: ["sharedMemory"],
  },
  {
    name: "a MIG manager that failed",
    observations: {
      ...healthy,
      nodes: [
        operatorNode({
          "nvidia.com/mig.config": "all-1g.12gb",
          "nvidia.com/mig.config.state": "failed",
        }),
      ],
      pods: [...healthy.pods, migManagerPod],
    },
    stacks: ["rtx5070ti", withoutStack],
    causes: [
      {
        cause: "migManager",
        evidence: ["node k8s-worker4: nvidia.com/mig.config.state=failed for all-1g.12gb"],
      },
    ],
  },
  {
    name: "a MIG manager that failed in a stack that has the fix",
    observations: {
      ...healthy,
      nodes: [
        operatorNode({
          "nvidia.com/mig.config": "all-1g.12gb",
          "nvidia.com/mig.config.state": "failed",
        }),
      ],
      pods: [...healthy.pods, migManagerPod],
    },
    stacks: ["mig"],
    causes: ["migManager"],
    remedy: "read the log of the pod nvidia-mig-manager",
  },
  {
    name: "a MIG manager that sets no state",
    observations: {
      ...healthy,
      nodes: [operatorNode({ "nvidia.com/mig.config": "all-1g.12gb" })],
      pods: [...healthy.pods, migManagerPod],
    },
    stacks: ["rtx5070ti", withoutStack],
    causes: ["migManager"],
  },
  {
    name: "a MIG manager that is at work",
    observations: {
      ...healthy,
      nodes: [
        operatorNode({
          "nvidia.com/mig.config": "all-1g.12gb",
          "nvidia.com/mig.config.state": "pending",
        }),
      ],
      pods: [...healthy.pods, migManagerPod],
    },
    stacks: ["rtx5070ti", withoutStack],
    causes: [],
  },
  {
    name: "a MIG manager that is done",
    observations: {
      ...healthy,
      nodes: [
        operatorNode({
          "nvidia.com/mig.config": "all-1g.12gb",
          "nvidia.com/mig.config.state": "success",
        }),
      ],
      pods: [...healthy.pods, migManagerPod],
    },
    stacks: ["rtx5070ti", withoutStack],
    causes: [],
  },
  {
    name: "a requested MIG geometry without a pod of the MIG manager yet",
    observations: { ...healthy, nodes: [operatorNode({ "nvidia.com/mig.config": "all-1g.12gb" })] },
    stacks: ["rtx5070ti", withoutStack],
    causes: [],
  },
  {
    name: "a MIG manager without a request",
    observations: { ...healthy, pods: [...healthy.pods, migManagerPod] },
    stacks: ["rtx5070ti", withoutStack],
    causes: [],
  },
  {
    name: "a boot that hangs, according to its log",
    observations: { ...healthy, ...endlessBoot },
    stacks: ["rtx5070ti", withoutStack],
    causes: ["perMachinePatch"],
  },
  {
    name: "a boot that will hang, according to the configuration in force",
    observations: {
      ...healthy,
      ...endlessBoot,
      machines: [
        {
          name: "k8s-worker4",
          talosVersion: "v1.12.6",
          stage: "booting",
          modules: ["drm"],
          repeatedFiles: ["/etc/cri/conf.d/20-customization.part"],
        },
      ],
    },
    stacks: ["rtx5070ti", withoutStack],
    causes: ["perMachinePatch"],
  },
  {
    name: "a boot that hangs because of another file or another error",
    observations: {
      ...healthy,
      ...endlessBoot,
      machines: [
        {
          name: "k8s-worker4",
          talosVersion: "v1.12.6",
          stage: "booting",
          modules: ["drm"],
          repeatedFiles: ["/var/a"],
          bootErrors: ['writeUserFiles failed: file must exist: "/etc/a"'],
        },
      ],
    },
    stacks: ["rtx5070ti", withoutStack],
    causes: ["kernelModules"],
  },
  {
    name: "a release whose upgrade by Helm was killed",
    observations: {
      releases: [
        { namespace: "gpu", name: "gpu-operator", status: "pending-upgrade", revision: 2 },
      ],
    },
    causes: [
      { cause: "releasePending", evidence: ["Helm release gpu/gpu-operator is pending-upgrade"] },
    ],
  },
  {
    name: "an operator with the values for Talos 1.14 on Talos 1.15, and a power limit that therefore sees no cards",
    observations: {
      pods: [
        failingPod("limit", "gpu", noCards),
        { namespace: "gpu-operator", name: "validator", phase: "Pending", node: "gpu" },
      ],
      events: [{ namespace: "gpu-operator", object: "Pod/validator", message: noRuntime }],
    },
    stacks: ["next"],
    causes: ["operatorToolkit"],
  },
  {
    name: "a missing runtime named nvidia on Talos 1.13",
    observations: {
      events: [{ namespace: "gpu-operator", object: "Pod/validator", message: noRuntime }],
    },
    stacks: ["modern"],
    causes: ["runtimeHandler"],
  },
  {
    name: "the operator's toolkit in a folder that is read-only",
    observations: {
      events: [
        {
          namespace: "gpu-operator",
          object: "Pod/toolkit",
          message:
            'failed to mkdir "/usr/local/nvidia": mkdir /usr/local/nvidia: read-only file system',
        },
      ],
    },
    stacks: ["next"],
    causes: ["toolkitFolder"],
  },
  {
    name: "a pod of a RuntimeClass that was removed",
    observations: {
      events: [
        {
          namespace: "ollama",
          object: "ReplicaSet/ollama-x",
          reason: "FailedCreate",
          message:
            'Error creating: pods "ollama-x-" is forbidden: pod rejected: RuntimeClass "nvidia" not found',
        },
      ],
    },
    stacks: ["next"],
    causes: ["noRuntimeClass"],
  },
  {
    name: "a power limit whose pod sees no cards, because its annotation has no effect",
    observations: { pods: [failingPod("limit", "gpu", noCards)] },
    stacks: ["next"],
    causes: ["managementCards"],
  },
];
