import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Mistakes about labels, taints and tolerations. */
export const nodesMistakes: Mistakes = {
  "node-labels": [
    {
      name: "A label that Kubernetes refuses",
      base: "velaryon",
      change: yaml`
        machines:
          velaryon: { labels: { slot: "rack 1, slot 3" } }
      `,
      findings: [
        { check: "node-labels", field: "machines.velaryon.labels.slot", says: ["is not a label"] },
      ],
    },
    {
      name: "A label that turns the GPU off",
      base: "aarhus-h100",
      change: yaml`
        machines:
          talos-gpu: { labels: { nvidia.com/gpu.present: "false" } }
      `,
      findings: [
        {
          check: "node-labels",
          field: "machines.talos-gpu.labels.nvidia.com/gpu.present",
          says: ["turns the GPU off"],
        },
      ],
    },
    {
      name: "A label that turns off the operator's validator",
      base: "modern",
      change: yaml`
        machines:
          gpu-1: { labels: { nvidia.com/gpu.deploy.operator-validator: "false" } }
      `,
      findings: [
        {
          check: "node-labels",
          field: "machines.gpu-1.labels.nvidia.com/gpu.deploy.operator-validator",
          says: ["turns the GPU off"],
        },
      ],
    },
    {
      name: "A mistake of machineDefaults is one finding, which names machineDefaults",
      base: "three-generations",
      change: yaml`
        machineDefaults:
          labels: { slot: a b }
          patches:
            - "machine: { files: [{ op: create, path: /etc/cri/conf.d/20-customization.part, content: '' }] }"
      `,
      findings: [
        {
          check: "node-labels",
          field: "machineDefaults.labels.slot (blackwell and 3 more)",
          says: ["a b"],
        },
        {
          check: "containerd-part",
          field: "machineDefaults.patches[0] (blackwell and 3 more)",
          says: ["set the options under machineDefaults.containerd"],
        },
      ],
    },
    {
      name: "A label that keeps the toolkit away on Talos 1.15",
      base: "next",
      change: yaml`
        machines:
          gpu: { labels: { nvidia.com/gpu.deploy.container-toolkit: "false" } }
      `,
      findings: [
        {
          check: "node-labels",
          field: "machines.gpu.labels.nvidia.com/gpu.deploy.container-toolkit",
          says: ["turns the GPU off"],
        },
      ],
    },
    {
      name: "Labels that the kubelet or the stack sets",
      base: "one-card",
      change: yaml`
        machines:
          gpu:
            labels:
              kubernetes.io/os: windows
              nvidia.com/gpu.deploy.operator-validator: ""
      `,
      findings: [
        {
          check: "node-labels",
          field: "machines.gpu.labels.kubernetes.io/os",
          says: ['kubernetes.io/os: "windows" is not the value that the kubelet sets'],
        },
        {
          check: "node-labels",
          field: "machines.gpu.labels.nvidia.com/gpu.deploy.operator-validator",
          says: [
            'nvidia.com/gpu.deploy.operator-validator: "" conflicts with "true", the value that the stack sets',
          ],
        },
      ],
    },
    {
      name: "A label with a missing configuration of the device plugin",
      base: "plugin-on-1.13",
      change: yaml`
        sharing: { timeSlicing: { replicas: 4 } }
        machines:
          gpu-1: { labels: { nvidia.com/device-plugin.config: big } }
      `,
      findings: [
        {
          check: "node-labels",
          field: "machines.gpu-1.labels.nvidia.com/device-plugin.config",
          says: [
            'nvidia.com/device-plugin.config: "big" is not a configuration of the device plugin (known: default)',
          ],
        },
      ],
    },
  ],
  taints: [
    {
      name: "A taint without an effect",
      base: "velaryon",
      change: yaml`
        machines:
          velaryon: { taints: { gpu: "true" } }
      `,
      findings: [
        {
          check: "taints",
          field: "machines.velaryon.taints.gpu",
          says: ['"true" does not have the form value:Effect', "NoSchedule"],
        },
      ],
    },
    {
      name: "A taint that Kubernetes sets",
      base: "one-card",
      change: yaml`
        machines:
          gpu: { taints: { node.kubernetes.io/not-ready: :NoSchedule } }
      `,
      findings: [
        {
          check: "taints",
          field: "machines.gpu.taints.node.kubernetes.io/not-ready",
          says: ["Kubernetes itself sets the taint node.kubernetes.io/not-ready"],
        },
      ],
    },
  ],
  tolerations: [
    {
      name: "Tolerations that lack the machine's taint",
      base: "velaryon",
      change: yaml`
        devicePlugin:
          values:
            tolerations: [{ key: nvidia.com/gpu, operator: Exists, effect: NoSchedule }]
      `,
      findings: [
        {
          check: "tolerations",
          field: "devicePlugin.values.tolerations",
          says: ["does not tolerate the taint gpu=true:NoSchedule of velaryon"],
        },
      ],
    },
    {
      name: "Tolerations of the DRA driver that lack the machine's taint",
      base: "dra",
      change: yaml`
        machines: { large: { taints: { gpu: "true:NoSchedule" } } }
        dra:
          values:
            kubeletPlugin:
              tolerations: [{ key: nvidia.com/gpu, operator: Exists, effect: NoSchedule }]
      `,
      findings: [
        {
          check: "tolerations",
          field: "dra.values.kubeletPlugin.tolerations",
          says: ["does not tolerate the taint gpu=true:NoSchedule of large"],
        },
      ],
    },
    {
      name: "Tolerations with which the operator runs on no machine",
      base: "tainted",
      change: yaml`
        gpuOperator:
          values:
            operator: { tolerations: [] }
      `,
      findings: [
        {
          check: "tolerations",
          field: "gpuOperator.values.operator.tolerations",
          says: ["each machine has a taint that this list does not tolerate"],
        },
      ],
    },
    {
      name: "Tolerations with which Node Feature Discovery's master runs on no machine",
      base: "tainted",
      change: yaml`
        gpuOperator:
          values:
            node-feature-discovery:
              master: { tolerations: [] }
      `,
      findings: [
        {
          check: "tolerations",
          field: "gpuOperator.values.node-feature-discovery.master.tolerations",
          says: ["each machine has a taint that this list does not tolerate"],
        },
      ],
    },
    {
      name: "Tolerations with which Node Feature Discovery's collector runs on no machine",
      base: "tainted",
      change: yaml`
        gpuOperator:
          values:
            node-feature-discovery:
              gc: { tolerations: [] }
      `,
      findings: [
        {
          check: "tolerations",
          field: "gpuOperator.values.node-feature-discovery.gc.tolerations",
          says: ["each machine has a taint that this list does not tolerate"],
        },
      ],
    },
    {
      name: "Tolerations with which Node Feature Discovery's worker does not run on the machine",
      base: "tainted",
      change: yaml`
        bootstrap: false
        gpuOperator:
          values:
            node-feature-discovery:
              worker: { tolerations: [] }
      `,
      findings: [
        {
          check: "tolerations",
          field: "gpuOperator.values.node-feature-discovery.worker.tolerations",
          says: ["does not tolerate the taint gpu=true:NoSchedule of gpu"],
        },
      ],
    },
    {
      name: "Tolerations with which the plugin's Node Feature Discovery master runs on no machine",
      base: "tainted",
      change: yaml`
        gpuOperator: null
        devicePlugin:
          version: 0.19.3
          values:
            gfd: { enabled: true }
            nfd:
              master: { tolerations: [] }
      `,
      findings: [
        {
          check: "tolerations",
          field: "devicePlugin.values.nfd.master.tolerations",
          says: ["each machine has a taint that this list does not tolerate"],
        },
      ],
    },
  ],
};
