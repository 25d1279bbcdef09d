import { yaml } from "../../support/yaml";
import type { ChangedStack } from "../stacks";

/** Valid stacks that look wrong: people run them, or a check once refused them. */
export const acceptedStacks: ChangedStack[] = [
  {
    name: "Time slices by the user's own configuration of the device plugin",
    base: "one-card",
    change: yaml`
      gpuOperator: null
      devicePlugin:
        version: 0.19.3
        values:
          config:
            map:
              a: |
                version: v1
                sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 6}]}}
      workloads:
        pods:
          a: { image: nvidia/cuda:12.9.1-base-ubuntu24.04 }
          b: { image: nvidia/cuda:12.9.1-base-ubuntu24.04 }
          c: { image: nvidia/cuda:12.9.1-base-ubuntu24.04 }
    `,
  },
  {
    name: "Three time slices for one pod",
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
                sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 6}]}}
      workloads:
        pods: { a: { image: nvidia/cuda:12.9.1-base-ubuntu24.04, gpus: 3 } }
    `,
  },
  {
    name: "A ConfigMap of the device plugin that the stack does not contain",
    base: "one-card",
    change: yaml`
      gpuOperator: null
      devicePlugin:
        version: 0.19.3
        values: { config: { name: mine } }
      workloads:
        pods:
          a: { image: nvidia/cuda:12.9.1-base-ubuntu24.04 }
          b: { image: nvidia/cuda:12.9.1-base-ubuntu24.04 }
          c: { image: nvidia/cuda:12.9.1-base-ubuntu24.04 }
    `,
  },
  {
    name: "A ConfigMap of the operator's device plugin that the stack does not contain",
    base: "one-card",
    change: yaml`
      gpuOperator:
        values:
          devicePlugin: { config: { name: mine, default: any } }
      workloads:
        pods:
          a: { image: nvidia/cuda:12.9.1-base-ubuntu24.04 }
          b: { image: nvidia/cuda:12.9.1-base-ubuntu24.04 }
          c: { image: nvidia/cuda:12.9.1-base-ubuntu24.04 }
    `,
  },
  {
    name: "vLLM on two cards, and another machine with one old card",
    base: "one-card",
    change: yaml`
      talosVersion: v1.12.6
      machines:
        gpu:
          gpus: [{ model: RTX 3090, count: 2 }]
        small:
          address: 10.0.0.2
          role: worker
          configuration: adopted
          gpus: [{ model: GTX 1050 Ti }]
      driver: { flavour: proprietary }
      workloads: { vllm: { model: Qwen/Qwen2.5-7B-Instruct, gpus: 2 } }
    `,
  },
  {
    name: "vLLM on two cards and another machine with one old card, with a device plugin that another tool installs",
    base: "one-card",
    change: yaml`
      talosVersion: v1.12.6
      machines:
        gpu:
          gpus: [{ model: RTX 3090, count: 2 }]
        small:
          address: 10.0.0.2
          role: worker
          configuration: adopted
          gpus: [{ model: GTX 1050 Ti }]
      driver: { flavour: proprietary }
      workloads: { vllm: { model: Qwen/Qwen2.5-7B-Instruct, gpus: 2 } }
      gpuOperator: null
      external: { kind: devicePlugin }
    `,
  },
  {
    name: "A DRA driver that another tool installs",
    base: "one-card",
    change: yaml`
      gpuOperator: null
      external: { kind: dra }
    `,
  },
  {
    name: "Pods that share a card by the user's ResourceClaim, and one with a template",
    base: "dra",
    change: yaml`
      dra:
        values: { featureGates: { TimeSlicingSettings: true } }
      workloads:
        ollama: { claim: { architecture: null, resourceClaimName: shared } }
        pods:
          one: { image: busybox, claim: { resourceClaimName: shared } }
          two: { image: busybox, claim: { resourceClaimName: shared } }
          three: { image: busybox, claim: { resourceClaimName: shared } }
          nvidia-test: { claim: { cel: null, resourceClaimTemplateName: slice } }
    `,
  },
  {
    name: "An A800",
    base: "one-card",
    change: yaml`
      machines:
        gpu:
          gpus: [{ model: A800 }]
    `,
  },
  {
    name: "An H100 with 96 GB",
    base: "one-card",
    change: yaml`
      machines:
        gpu:
          gpus: [{ model: NVIDIA H100 96GB HBM3 }]
    `,
  },
  {
    name: "A DGX Spark",
    base: "one-card",
    change: yaml`
      machines:
        gpu:
          gpus: [{ model: DGX Spark GB10 }]
    `,
  },
  {
    name: "A V100 by the name of its board",
    base: "one-card",
    change: yaml`
      machines:
        gpu:
          gpus: [{ model: Tesla PG500-216 }]
    `,
  },
  {
    name: "A sysctl with the value that the driver needs",
    base: "one-card",
    change: yaml`
      talosVersion: v1.11.6
      patches:
        - |
          machine: {sysctls: {net.core.bpf_jit_harden: 1}}
    `,
  },
  {
    name: "A sysctl that the driver no longer needs from Talos 1.12 on",
    base: "one-card",
    change: yaml`
      patches:
        - |
          machine: {sysctls: {net.core.bpf_jit_harden: 2}}
    `,
  },
  {
    name: "A document of a release that has it, on an adopted machine",
    base: "one-card",
    change: yaml`
      talosVersion: v1.14.0
      patches:
        - |
          apiVersion: v1alpha1
          kind: SysctlConfig
          params: { a: b }
    `,
  },
  {
    name: "An empty patch",
    base: "one-card",
    change: yaml`
      patches: [""]
    `,
  },
  {
    name: "The operator tolerates the worker's taint",
    base: "tainted",
    change: yaml`
      gpuOperator:
        values:
          operator:
            tolerations:
              - { key: gpu, operator: Equal, value: "true", effect: NoSchedule }
    `,
  },
  {
    name: "The operator can run on a control plane without a taint",
    base: "tainted",
    change: yaml`
      gpuOperator:
        values:
          operator: { tolerations: [] }
      patches:
        - |
          cluster:
            allowSchedulingOnControlPlanes: true
    `,
  },
  {
    name: "The operator can run on nodes that the stack does not name",
    base: "tainted",
    change: yaml`
      bootstrap: false
      gpuOperator:
        values:
          operator: { tolerations: [] }
    `,
  },
  {
    name: "Tolerations of a Node Feature Discovery that the operator's chart does not install",
    base: "tainted",
    change: yaml`
      gpuOperator:
        values:
          nfd: { enabled: false }
          node-feature-discovery:
            master: { tolerations: [] }
    `,
  },
  {
    name: "Tolerations of a Node Feature Discovery that the plugin's chart does not install",
    base: "tainted",
    change: yaml`
      gpuOperator: null
      devicePlugin:
        version: 0.19.3
        values:
          nfd:
            master: { tolerations: [] }
    `,
  },
  {
    name: "One card for virtual machines and a second card for pods",
    base: "one-card",
    change: yaml`
      machines:
        gpu: { kernelArgs: [intel_iommu=on, "vfio-pci.ids=10de:1c03,10de:10f1"] }
    `,
  },
  {
    name: "An owned machine whose patch keeps its kernel arguments in the configuration",
    base: "rtx5070ti",
    change: yaml`
        machines:
          k8s-worker4:
            versionContract: v1.12
            patches:
              - "machine: {install: {grubUseUKICmdline: false, extraKernelArgs: [intel_iommu=on]}}"
    `,
  },
  {
    name: "Kernel arguments in a patch of an owned machine whose configuration is that of Talos 1.11",
    base: "rtx5070ti",
    change: yaml`
        machines:
          k8s-worker4:
            versionContract: v1.11
            patches: ["machine: {install: {extraKernelArgs: [intel_iommu=on]}}"]
    `,
  },
  {
    name: "Kernel arguments in a patch of an owned machine on a cloud platform",
    base: "rtx5070ti",
    change: yaml`
        machines:
          k8s-worker4:
            versionContract: v1.12
            platform: nocloud
            patches: ["machine: {install: {extraKernelArgs: [intel_iommu=on]}}"]
    `,
  },
  {
    name: "Kernel arguments in a patch of a machine that another tool configures",
    base: "one-card",
    change: yaml`
        machines:
          gpu: { patches: ["machine: {install: {extraKernelArgs: [intel_iommu=on]}}"] }
    `,
  },
  {
    name: "A worker in upgrade.first that is away, while no other worker waits for it",
    base: "one-card",
    change: yaml`
        away: [gpu]
        machines: { gpu: { mayBeAway: true } }
        upgrade: { first: [gpu] }
    `,
  },
  {
    name: "A machine that may be away and is on, in a cluster that the stack makes",
    base: "tainted",
    change: yaml`
        away: []
        machines: { gpu: { mayBeAway: true } }
    `,
  },
];
