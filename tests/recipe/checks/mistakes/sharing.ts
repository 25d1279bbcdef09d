import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Mistakes about how cards are shared. */
export const sharingMistakes: Mistakes = {
  sharing: [
    {
      name: "Time slicing with one replica",
      base: "rtx3090-timeslicing",
      change: yaml`
        sharing: { timeSlicing: { replicas: 1 } }
      `,
      findings: [
        {
          check: "sharing",
          field: "sharing.timeSlicing.replicas",
          says: ["is 1", "write 2 or more"],
        },
      ],
    },
    {
      name: "MPS in a device plugin configuration of the user",
      base: "plugin-on-1.13",
      change: yaml`
        devicePlugin:
          values:
            config:
              map:
                default: "sharing: { mps: { resources: [{ name: nvidia.com/gpu, replicas: 4 }] } }"
      `,
      findings: [
        {
          check: "sharing",
          field: "devicePlugin.values.config",
          says: [
            "sets MPS, which does not work on Talos with any known release of the device plugin",
          ],
        },
      ],
    },
    {
      name: "MPS, whose control daemon does not find its server on Talos",
      base: "rtx3090-timeslicing",
      change: yaml`
        sharing: { timeSlicing: null, mps: { replicas: 4 } }
      `,
      findings: [
        {
          check: "sharing",
          field: "sharing.mps",
          says: [
            "sets MPS, which does not work on Talos with any known release of the device plugin",
            "CUDA error 805",
            "mps-server-path.md",
          ],
        },
      ],
    },
  ],
  mig: [
    {
      name: "A MIG profile of another card",
      base: "mig",
      change: yaml`
        sharing: { mig: { profile: 1g.12gb } }
      `,
      findings: [
        {
          check: "mig",
          field: "sharing.mig.profile",
          says: ["the H200 of dc-1 has no profile 1g.12gb", "1g.18gb"],
        },
      ],
    },
    {
      name: "MIG on a card without it",
      base: "rtx5070ti",
      change: yaml`
        workloads: { ollama: null, comfyui: null }
        sharing: { mig: { strategy: single, profile: 1g.10gb } }
      `,
      findings: [
        {
          check: "mig",
          field: "sharing.mig",
          says: ["the RTX 5070 Ti of k8s-worker4 does not support MIG"],
        },
      ],
    },
    {
      name: "Instances of several sizes with the strategy single",
      base: "mig",
      change: yaml`
        sharing: { mig: { profile: all-balanced } }
      `,
      findings: [
        {
          check: "mig",
          field: "sharing.mig.strategy",
          says: ["is single, but the profile is all-balanced", "write mixed"],
        },
      ],
    },
    {
      name: "MIG on a card whose driver cannot do it yet",
      base: "mig",
      change: yaml`
        talosVersion: v1.11.6
        driver: { branch: lts }
      `,
      findings: [
        { check: "mig", field: "sharing.mig", says: ["MIG on the H200 needs driver 550.90.07"] },
      ],
    },
    {
      name: "MIG with the standalone plugin",
      base: "aarhus-h100",
      change: yaml`
        sharing: { mig: { strategy: single, profile: 1g.12gb } }
      `,
      findings: [
        {
          check: "mig",
          field: "sharing.mig",
          says: [
            "is set together with devicePlugin",
            "only the GPU Operator has a MIG manager that splits the cards, and Talos has no shell to split them by hand",
          ],
        },
      ],
    },
    {
      name: "A MIG profile for which the MIG manager's configuration has no entry for the card",
      base: "mig",
      change: yaml`
        machines:
          dc-1:
            powerLimit: null
            gpus: [{ model: RTX PRO 6000 Blackwell Max-Q Workstation Edition, count: 2 }]
        sharing: { mig: { strategy: mixed, profile: all-balanced } }
        driver: { branch: lts }
      `,
      findings: [
        {
          check: "mig",
          field: "sharing.mig.profile",
          says: ["all-balanced does nothing", "1g.24gb"],
        },
      ],
    },
    {
      name: "A profile that the MIG manager's configuration gives only to other cards",
      base: "mig",
      change: yaml`
        machines:
          dc-1:
            powerLimit: null
            gpus: [{ model: H200 NVL, count: 2 }]
        sharing: { mig: { profile: all-1g.35gb } }
      `,
      findings: [
        {
          check: "mig",
          field: "sharing.mig.profile",
          says: ["all-1g.35gb does nothing on the H200 NVL", "2g.35gb"],
        },
      ],
    },
  ],
  "gpu-requests": [
    {
      name: "More GPUs for one pod than a machine has",
      base: "aarhus-h100",
      change: yaml`
        workloads:
          pods: { vectoradd: { gpus: 4 } }
      `,
      findings: [
        {
          check: "gpu-requests",
          field: "workloads.pods.vectoradd.gpus",
          says: ["4 of nvidia.com/gpu, but no machine has more than 2", "Pending forever"],
        },
      ],
    },
    {
      name: "A model on two cards of a machine with one",
      base: "rtx5070ti",
      change: yaml`
        workloads: { vllm: { active: false, model: Qwen/Qwen2.5-7B-Instruct, gpus: 2 } }
      `,
      findings: [
        {
          check: "gpu-requests",
          field: "workloads.vllm.gpus",
          says: ["2 of nvidia.com/gpu, but no machine has more than 1"],
        },
      ],
    },
    {
      name: "A workload that names a MIG profile with the strategy single",
      base: "mig",
      change: yaml`
        workloads: { ollama: { migProfile: 1g.18gb } }
      `,
      findings: [
        {
          check: "gpu-requests",
          field: "workloads.ollama.migProfile",
          says: [
            "only the strategy `mixed` gives each MIG profile its own resource, so the pod would request nvidia.com/gpu instead",
          ],
        },
      ],
    },
    {
      name: "A workload that requests MIG devices that no card is split into",
      base: "mig",
      change: yaml`
        sharing: { mig: { strategy: mixed, profile: all-balanced } }
        workloads: { ollama: { migProfile: 7g.141gb } }
      `,
      findings: [
        {
          check: "gpu-requests",
          field: "workloads.ollama.migProfile",
          says: [
            "no machine has MIG devices with the profile 7g.141gb",
            "1g.18gb, 2g.35gb, 3g.71gb",
          ],
        },
      ],
    },
    {
      name: "A pod on a machine without the MIG devices that it requests",
      base: "mig-beside-whole",
      change: yaml`
        workloads:
          pods:
            slice: { nodeSelector: { kubernetes.io/hostname: home-1 } }
      `,
      findings: [
        {
          check: "gpu-requests",
          field: "workloads.pods.slice.gpus",
          says: [
            "1 of nvidia.com/mig-1g.18gb, but no machine that nodeSelector selects (home-1) has more than 0",
          ],
        },
      ],
    },
  ],
  "gpu-capacity": [
    {
      name: "More claims than cards",
      base: "dra",
      change: yaml`
        workloads: { comfyui: { claim: { architecture: Hopper } } }
      `,
      findings: [
        {
          check: "gpu-capacity",
          field: "workloads",
          says: ["or let pods share a card through one ResourceClaim (claim.resourceClaimName)"],
        },
      ],
    },
    {
      name: "More pods than slices of a shared card",
      base: "rtx3090-timeslicing",
      change: yaml`
        machines:
          gpu-a:
            gpus: [{ model: RTX 3090 }]
        sharing: { timeSlicing: { replicas: 2 } }
        workloads: { ollama: {} }
      `,
      findings: [
        {
          check: "gpu-capacity",
          field: "workloads",
          says: ["or set a larger number in sharing.timeSlicing.replicas"],
        },
      ],
    },
    {
      name: "Two workloads that always run, and one card",
      base: "rtx5070ti",
      change: yaml`
        workloads: { comfyui: { active: null } }
      `,
      findings: [
        {
          check: "gpu-capacity",
          field: "workloads",
          says: [
            "ollama, comfyui request 2 of nvidia.com/gpu at the same time, and the machines have only 1",
            "active: false",
          ],
        },
      ],
    },
    {
      name: "More pods than slices of the user's own configuration of the device plugin",
      base: "plugin-on-1.13",
      change: yaml`
        devicePlugin:
          values:
            config:
              map:
                default: "sharing: { timeSlicing: { resources: [{ name: nvidia.com/gpu, replicas: 2 }] } }"
        workloads:
          pods:
            first: { image: nvidia/cuda:12.9.1-base-ubuntu24.04 }
            second: { image: nvidia/cuda:12.9.1-base-ubuntu24.04 }
            third: { image: nvidia/cuda:12.9.1-base-ubuntu24.04 }
      `,
      findings: [
        {
          check: "gpu-capacity",
          field: "workloads",
          says: ["or set a larger number of replicas in your configuration of the device plugin"],
        },
      ],
    },
    {
      name: "More pods than devices of a MIG profile",
      base: "mig",
      change: yaml`
        sharing: { mig: { strategy: mixed, profile: all-balanced } }
        workloads:
          ollama: { gpus: 2, migProfile: 3g.71gb }
          comfyui: { migProfile: 3g.71gb }
      `,
      findings: [
        {
          check: "gpu-capacity",
          field: "workloads",
          says: ["ollama, comfyui request 3 of nvidia.com/mig-3g.71gb"],
        },
      ],
    },
    {
      name: "Two pods on one machine, which has one card",
      base: "three-generations",
      change: yaml`
        workloads:
          pods:
            first:
              image: nvidia/cuda:12.9.1-base-ubuntu24.04
              nodeSelector: { kubernetes.io/hostname: spark }
            second:
              image: nvidia/cuda:12.9.1-base-ubuntu24.04
              nodeSelector: { kubernetes.io/hostname: spark }
      `,
      findings: [
        {
          check: "gpu-capacity",
          field: "workloads",
          says: [
            "first, second request 2 of nvidia.com/gpu",
            "first, second request 2 of nvidia.com/gpu at the same time, and these pods fit only on spark (with 1 in total)",
          ],
        },
      ],
    },
    {
      name: "Two pods that request two cards each, and one machine with room for one pod",
      base: "three-generations",
      change: yaml`
        machines:
          blackwell:
            gpus: [{ model: RTX 5090, count: 3 }]
        workloads:
          pods:
            first: { image: nvidia/cuda:12.9.1-base-ubuntu24.04, gpus: 2 }
            second: { image: nvidia/cuda:12.9.1-base-ubuntu24.04, gpus: 2 }
      `,
      findings: [
        {
          check: "gpu-capacity",
          field: "workloads",
          says: [
            "first, second request 4 of nvidia.com/gpu at the same time",
            "and only 1 of these pods can run, because each needs 2 or more on one machine",
          ],
        },
      ],
    },
  ],
  "sharing-requests": [
    {
      name: "Two slices of a shared card for one pod",
      base: "modern",
      change: yaml`
        workloads:
          pods: { train: { gpus: 2 } }
      `,
      findings: [
        {
          check: "sharing-requests",
          field: "workloads.pods.train.gpus",
          says: ["2 slices of shared cards", "UnexpectedAdmissionError"],
        },
      ],
    },
    {
      name: "Several slices for one pod, which the user's configuration refuses",
      base: "one-card",
      change: yaml`
        gpuOperator: null
        devicePlugin:
          version: 0.19.3
          values:
            config:
              map:
                default: |
                  version: v1
                  sharing:
                    timeSlicing:
                      failRequestsGreaterThanOne: true
                      resources: [{ name: nvidia.com/gpu, replicas: 6 }]
        workloads:
          pods: { a: { image: nvidia/cuda:12.9.1-base-ubuntu24.04, gpus: 3 } }
      `,
      findings: [
        {
          check: "sharing-requests",
          field: "workloads.pods.a.gpus",
          says: ["3 slices of shared cards", "failRequestsGreaterThanOne"],
        },
      ],
    },
  ],
  "sharing-config": [
    {
      name: "A ConfigMap of the user together with sharing",
      base: "rtx3090-timeslicing",
      change: yaml`
        devicePlugin:
          values: { config: { name: mine } }
      `,
      findings: [
        {
          check: "sharing-config",
          field: "devicePlugin.values.config.name",
          says: [
            "but sharing.timeSlicing is set",
            "the plugin uses one configuration per node, so the chart fails, or your configuration replaces that of `sharing`",
          ],
        },
      ],
    },
  ],
};
