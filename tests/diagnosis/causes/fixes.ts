import type { Observations, ObservedPod } from "../../../components/diagnosis";
import { type CauseCase, withoutStack } from "./case";
import { healthy, waitingPlugin, waitingPod } from "./observations";

const refusedByPodSecurity =
  'Error creating: pods "nvidia-gpu-operator-node-feature-discovery-worker-" is forbidden: violates PodSecurity "baseline:latest": hostPath volumes (volumes "host-boot")';
const noDriver: Observations = {
  machines: [
    {
      name: "k8s-worker4",
      modules: ["drm"],
      driverVersion: null,
      services: { "ext-nvidia-persistenced": "Waiting" },
      errors: [],
    },
  ],
};
const podOfUnknownStrategy: ObservedPod = {
  namespace: "kube-system",
  name: "nvidia-device-plugin-x",
  phase: "Running",
  containers: [
    {
      name: "ctr",
      state: "waiting",
      reason: "CrashLoopBackOff",
      lastMessage: "invalid --device-list-strategy option: invalid strategy: envvars",
    },
  ],
};

/** Systems that lack a fix, and the fix that the diagnosis gives. The first systems lack none. */
export const fixCases: CauseCase[] = [
  {
    name: "a healthy system",
    observations: healthy,
    stacks: ["rtx5070ti", withoutStack],
    causes: [],
  },
  {
    name: "no observations",
    observations: {},
    stacks: ["rtx5070ti", "aarhus-h100", "modern"],
    causes: [],
  },
  {
    name: "an operator's pod that waits for a marker file",
    observations: {
      ...healthy,
      daemonSets: [
        {
          namespace: "nvidia-gpu-operator",
          name: "nvidia-device-plugin-daemonset",
          desired: 1,
          ready: 0,
        },
      ],
      pods: [...healthy.pods, waitingPod("nvidia-device-plugin-daemonset-x", "toolkit-validation")],
    },
    stacks: ["rtx5070ti", withoutStack],
    causes: [
      {
        cause: "validationMarkers",
        evidence: [
          "Pod/nvidia-device-plugin-daemonset-x: init container toolkit-validation does not end",
        ],
      },
    ],
  },
  {
    name: "an operator's pods that wait for marker files, in a cluster without the markers' DaemonSet",
    observations: waitingPlugin,
    stacks: ["rtx5070ti"],
    causes: [
      {
        cause: "validationMarkers",
        evidence: [
          "Pod/nvidia-device-plugin-daemonset-x: init container toolkit-validation does not end",
          "Pod/gpu-feature-discovery-x: init container toolkit-validation does not end",
          "Pod/nvidia-operator-validator-x: init container driver-validation does not end",
        ],
      },
    ],
    remedy: "normally the stack makes sure that a DaemonSet keeps the files", // the remedy differs if the stack has the fix
  },
  {
    name: "pods that wait for marker files although the markers' DaemonSet is ready",
    observations: {
      ...waitingPlugin,
      daemonSets: [
        {
          namespace: "nvidia-gpu-operator",
          name: "nvidia-validation-markers",
          desired: 1,
          ready: 1,
        },
      ],
      nodes: [
        { name: "k8s-worker4", labels: { "nvidia.com/gpu.deploy.operator-validator": "false" } },
      ],
    },
    stacks: ["rtx5070ti"],
    causes: [],
  },
  {
    name: "pods that wait on Talos 1.13, where no pod needs marker files",
    observations: {
      pods: [
        {
          namespace: "gpu-operator",
          name: "nvidia-device-plugin-daemonset-x",
          phase: "Pending",
          node: "k8s-worker4",
          initContainers: [{ name: "toolkit-validation", state: "running", ready: false }],
          containers: [{ name: "main", state: "waiting", ready: false, reason: "PodInitializing" }],
        },
      ],
    },
    stacks: ["modern"],
    causes: [],
  },
  {
    name: "pods that Pod Security refuses",
    observations: {
      daemonSets: [
        {
          namespace: "nvidia-gpu-operator",
          name: "node-feature-discovery-worker",
          desired: 1,
          ready: 0,
        },
      ],
      events: [
        {
          namespace: "nvidia-gpu-operator",
          object: "DaemonSet/node-feature-discovery-worker",
          message: refusedByPodSecurity,
        },
        {
          namespace: "nvidia-gpu-operator",
          object: "DaemonSet/nvidia-validation-markers",
          reason: "FailedCreate",
          message: refusedByPodSecurity,
        },
      ],
      nodes: [{ name: "k8s-worker4", labels: {} }],
    },
    stacks: ["rtx5070ti"],
    causes: ["privilegedNamespace"],
  },
  {
    name: "pods that wait for marker files, because Pod Security refuses the pods that write them",
    observations: {
      ...waitingPlugin,
      events: [
        {
          namespace: "nvidia-gpu-operator",
          object: "DaemonSet/nvidia-validation-markers",
          message: refusedByPodSecurity,
        },
      ],
    },
    stacks: ["rtx5070ti"],
    causes: ["privilegedNamespace"],
  },
  {
    name: "pods that Pod Security refuses in another namespace",
    observations: {
      events: [{ namespace: "media", object: "ReplicaSet/x", message: refusedByPodSecurity }],
    },
    stacks: ["rtx5070ti"],
    causes: [],
  },
  {
    name: "no driver",
    observations: noDriver,
    stacks: ["rtx5070ti"],
    causes: [
      {
        cause: "kernelModules",
        evidence: [
          "k8s-worker4: no module nvidia is loaded",
          "k8s-worker4: ext-nvidia-persistenced is Waiting",
        ],
      },
    ],
  },
  {
    name: "no driver, and pods that therefore wait for marker files",
    observations: { ...waitingPlugin, ...noDriver },
    stacks: ["rtx5070ti"],
    causes: ["kernelModules"],
  },
  {
    name: "no driver, and pods that Pod Security refuses",
    observations: {
      ...noDriver,
      events: [
        { namespace: "nvidia-gpu-operator", object: "ReplicaSet/x", message: refusedByPodSecurity },
      ],
    },
    stacks: ["rtx5070ti"],
    causes: ["kernelModules", "privilegedNamespace"],
  },
  {
    name: "no driver, and a pod that therefore finds no libraries of the driver",
    observations: {
      machines: [{ name: "a", modules: ["drm"], driverVersion: null }],
      nodes: [
        { name: "a", labels: { "extensions.talos.dev/nvidia-open-gpu-kernel-modules-lts": "1" } },
      ],
      events: [
        { namespace: "gpu", object: "Pod/x", message: "nvml init failed: ERROR_LIBRARY_NOT_FOUND" },
      ],
    },
    causes: ["kernelModules"],
  },
  {
    name: "no driver, without a stack",
    observations: {
      ...healthy,
      machines: [{ name: "k8s-worker4", modules: ["drm"], driverVersion: null }],
    },
    causes: ["kernelModules"],
    remedy:
      "make sure that machine.kernel.modules lists nvidia, nvidia_uvm, nvidia_drm and nvidia_modeset",
  },
  {
    name: "no driver on a machine without the planned image, for a reason that is not the missing fix",
    observations: { machines: [{ name: "k8s-worker4", schematicId: "376567988ad3", modules: [] }] },
    stacks: ["rtx5070ti"],
    causes: [],
  },
  {
    name: "no driver on a machine without a GPU",
    observations: { machines: [{ name: "mini-1", modules: [] }] },
    stacks: ["frank"],
    causes: [],
  },
  {
    name: "no driver on a machine of Omni whose image does not contain it yet",
    observations: {
      machines: [
        { name: "gpu-1", talosVersion: "v1.12.6", modules: ["drm"], extensions: ["iscsi-tools"] },
      ],
    },
    stacks: ["omni"],
    causes: [],
  },
  {
    name: "no driver on a machine of Omni whose image contains it",
    observations: {
      machines: [
        {
          name: "gpu-1",
          talosVersion: "v1.12.6",
          modules: ["drm"],
          extensions: ["nvidia-open-gpu-kernel-modules-production"],
        },
      ],
    },
    stacks: ["omni"],
    causes: ["kernelModules"],
  },
  {
    name: "a device filter that the kernel refuses",
    observations: {
      ...waitingPlugin,
      pods: [
        {
          namespace: "kube-system",
          name: "nvidia-device-plugin-x",
          phase: "Pending",
          containers: [
            {
              name: "ctr",
              state: "waiting",
              reason: "RunContainerError",
              message:
                "failed to create containerd task: nvidia-container-cli: mount error: failed to create device filter: failed to add device rules: unable to generate new device filter program from existing programs: unable to create new device filters program: load program: invalid argument: last insn is not an exit or jmp\nprocessed 0 insns",
            },
          ],
        },
      ],
    },
    stacks: ["rtx5070ti", "aarhus-h100"],
    causes: [{ cause: "bpfJitHarden", evidence: ["last insn is not an exit or jmp"] }],
  },
  {
    name: "a missing RuntimeClass, in an event of the DaemonSet",
    observations: {
      daemonSets: [
        { namespace: "kube-system", name: "nvidia-device-plugin", desired: 1, ready: 0 },
      ],
      events: [
        {
          namespace: "kube-system",
          object: "DaemonSet/nvidia-device-plugin",
          message:
            'Error creating: pods "nvidia-device-plugin-" is forbidden: pod rejected: RuntimeClass "nvidia" not found',
        },
      ],
      runtimeClasses: [],
    },
    stacks: ["aarhus-h100"],
    causes: ["runtimeClass"],
  },
  {
    name: "a missing RuntimeClass, in the other wording of the API server",
    observations: {
      daemonSets: [
        { namespace: "kube-system", name: "nvidia-device-plugin", desired: 1, ready: 0 },
      ],
      events: [
        {
          namespace: "kube-system",
          object: "DaemonSet/nvidia-device-plugin",
          message:
            'pods "smoke" is forbidden: pod rejected: runtimeclass.node.k8s.io "nvidia" not found',
        },
      ],
      runtimeClasses: [],
    },
    stacks: ["aarhus-h100"],
    causes: ["runtimeClass"],
  },
  {
    name: "a RuntimeClass that exists by now",
    observations: {
      events: [{ object: "Pod/x", message: 'RuntimeClass "nvidia" not found' }],
      runtimeClasses: [{ name: "nvidia", handler: "nvidia" }],
    },
    stacks: ["aarhus-h100"],
    causes: [],
  },
  {
    name: "a RuntimeClass that the stack has not created yet",
    observations: { runtimeClasses: [] },
    stacks: ["aarhus-h100"],
    causes: [],
  },
  {
    name: "a plugin that wants no pod",
    observations: {
      daemonSets: [
        { namespace: "kube-system", name: "nvidia-device-plugin", desired: 0, ready: 0 },
      ],
      nodes: [
        {
          name: "talos-gpu",
          labels: { "kubernetes.io/os": "linux" },
          allocatable: {},
          ready: true,
        },
      ],
      runtimeClasses: [{ name: "nvidia", handler: "nvidia" }],
      machines: [{ name: "talos-gpu", modules: ["nvidia"], driverVersion: "570.172.08" }],
    },
    stacks: ["aarhus-h100"],
    causes: [
      {
        cause: "gpuPresentLabel",
        evidence: [
          "DaemonSet/nvidia-device-plugin wants 0 pods",
          "node talos-gpu lacks nvidia.com/gpu.present=true",
        ],
      },
    ],
  },
  {
    name: "a plugin that does not know its list strategy, according to its last message before the restart",
    observations: { pods: [podOfUnknownStrategy] },
    stacks: ["aarhus-h100"],
    causes: ["deviceListStrategy"],
  },
  {
    name: "a plugin of another namespace that does not know its list strategy",
    observations: { pods: [{ ...podOfUnknownStrategy, namespace: "elsewhere" }] },
    stacks: ["aarhus-h100"],
    causes: [],
  },
];
