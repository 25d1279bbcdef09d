import type { Observations, ObservedPod } from "../../../components/diagnosis";
import { type CauseCase, withoutStack } from "./case";
import { healthy, stuck, waitingPod } from "./seen";

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
  { name: "a healthy system", seen: healthy, stacks: ["rtx5070ti", withoutStack], causes: [] },
  { name: "nothing seen", seen: {}, stacks: ["rtx5070ti", "aarhus-h100", "modern"], causes: [] },
  {
    name: "an operator's pods that wait, by what the cluster looks like",
    seen: {
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
    name: "pods that wait",
    seen: stuck,
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
    remedy: "the stack has this fix", // the remedy differs if the stack has the fix
  },
  {
    name: "pods that wait a moment while the markers are kept",
    seen: {
      ...stuck,
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
    name: "pods that wait on Talos 1.13, where no pod waits for markers",
    seen: {
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
    name: "pods that are refused",
    seen: {
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
    name: "pods that are refused write no markers",
    seen: {
      ...stuck,
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
    name: "pods that are refused in an external namespace",
    seen: {
      events: [{ namespace: "media", object: "ReplicaSet/x", message: refusedByPodSecurity }],
    },
    stacks: ["rtx5070ti"],
    causes: [],
  },
  {
    name: "no driver",
    seen: noDriver,
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
    name: "no driver, and pods that wait like without markers",
    seen: { ...stuck, ...noDriver },
    stacks: ["rtx5070ti"],
    causes: ["kernelModules"],
  },
  {
    name: "no driver, and pods that are refused",
    seen: {
      ...noDriver,
      events: [
        { namespace: "nvidia-gpu-operator", object: "ReplicaSet/x", message: refusedByPodSecurity },
      ],
    },
    stacks: ["rtx5070ti"],
    causes: ["kernelModules", "privilegedNamespace"],
  },
  {
    name: "no driver, and what pods say of its libraries follows from that",
    seen: {
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
    name: "no driver, without a stack, on what the cluster looks like",
    seen: {
      ...healthy,
      machines: [{ name: "k8s-worker4", modules: ["drm"], driverVersion: null }],
    },
    causes: ["kernelModules"],
    remedy:
      "make sure that machine.kernel.modules lists nvidia, nvidia_uvm, nvidia_drm and nvidia_modeset",
  },
  {
    name: "no driver on a machine without the planned image, for a reason that is not the missing fix",
    seen: { machines: [{ name: "k8s-worker4", schematicId: "376567988ad3", modules: [] }] },
    stacks: ["rtx5070ti"],
    causes: [],
  },
  {
    name: "no driver on a machine without a GPU",
    seen: { machines: [{ name: "mini-1", modules: [] }] },
    stacks: ["frank"],
    causes: [],
  },
  {
    name: "no driver on a machine whose image does not have it, as Omni has not upgraded it yet",
    seen: {
      machines: [
        { name: "gpu-1", talosVersion: "v1.12.6", modules: ["drm"], extensions: ["iscsi-tools"] },
      ],
    },
    stacks: ["omni"],
    causes: [],
  },
  {
    name: "no driver on a machine whose image does have it",
    seen: {
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
    name: "a device filter that the kernel does not take",
    seen: {
      ...stuck,
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
    name: "a RuntimeClass that is not there",
    seen: {
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
    name: "a RuntimeClass that is not there, in other words",
    seen: {
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
    name: "a RuntimeClass that is there by now",
    seen: {
      events: [{ object: "Pod/x", message: 'RuntimeClass "nvidia" not found' }],
      runtimeClasses: [{ name: "nvidia", handler: "nvidia" }],
    },
    stacks: ["aarhus-h100"],
    causes: [],
  },
  {
    name: "a RuntimeClass that the stack has not come to yet",
    seen: { runtimeClasses: [] },
    stacks: ["aarhus-h100"],
    causes: [],
  },
  {
    name: "a plugin that wants no pod",
    seen: {
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
    name: "a plugin that does not know its list strategy, by what it said before it was started again",
    seen: { pods: [podOfUnknownStrategy] },
    stacks: ["aarhus-h100"],
    causes: ["deviceListStrategy"],
  },
  {
    name: "a plugin of another namespace that does not know its list strategy",
    seen: { pods: [{ ...podOfUnknownStrategy, namespace: "elsewhere" }] },
    stacks: ["aarhus-h100"],
    causes: [],
  },
];
