import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Mistakes in chart values. */
export const valuesMistakes: Mistakes = {
  "chart-values": [
    {
      name: "Values that the operator's chart does not have",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator:
          values:
            devicePlugin: { nodeSelector: { nvidia.com/gpu.present: "true" } }
            dcgmExporter: { nodeSelector: { nvidia.com/gpu.present: "true" } }
      `,
      findings: [
        {
          check: "chart-values",
          field: "gpuOperator.values.devicePlugin.nodeSelector",
          says: [
            "Helm ignores it without an error, so it has no effect",
            "ignores it without an error",
            "only by node labels",
          ],
        },
        {
          check: "chart-values",
          field: "gpuOperator.values.dcgmExporter.nodeSelector",
          says: ["Helm ignores it without an error, so it has no effect"],
        },
      ],
    },
    {
      name: "A value of the device plugin's chart that is misspelt",
      base: "aarhus-h100",
      change: yaml`
        devicePlugin: { values: { runtimeClassname: nvidia } }
      `,
      findings: [
        {
          check: "chart-values",
          field: "devicePlugin.values.runtimeClassname",
          says: ['did you mean "runtimeClassName"?'],
        },
      ],
    },
    {
      name: "A value named constructor",
      base: "aarhus-h100",
      change: yaml`
        devicePlugin:
          values: { constructor: { a: b } }
      `,
      findings: [
        {
          check: "chart-values",
          field: "devicePlugin.values.constructor",
          says: ["Helm ignores it without an error, so it has no effect"],
        },
      ],
    },
    {
      name: "A switch in quotes, which a template reads as true",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator:
          values: { dcgmExporter: { enabled: "false" } }
      `,
      findings: [
        {
          check: "chart-values",
          field: "gpuOperator.values.dcgmExporter.enabled",
          says: ["must be true or false", 'even "false"'],
        },
      ],
    },
    {
      name: "Values of another shape",
      base: "one-card",
      change: yaml`
        gpuOperator:
          values: { daemonsets: { labels: text } }
      `,
      findings: [
        {
          check: "chart-values",
          field: "gpuOperator.values.daemonsets.labels",
          says: ["must be a mapping"],
        },
      ],
    },
    {
      name: "Names of the device plugin that differ from the stack's",
      base: "aarhus-h100",
      change: yaml`
        devicePlugin: { values: { runtimeClassName: kata, namespaceOverride: other } }
      `,
      findings: [
        {
          check: "chart-values",
          field: "devicePlugin.values.runtimeClassName",
          says: ["must be nvidia"],
        },
        {
          check: "chart-values",
          field: "devicePlugin.values.namespaceOverride",
          says: ["must be kube-system"],
        },
      ],
    },
    {
      name: "Values that the device plugin's chart and program refuse",
      base: "plugin-on-1.13",
      change: yaml`
        devicePlugin:
          values: { migStrategy: several, failOnInitError: no, updateStrategy: OnDelete }
      `,
      findings: [
        {
          check: "chart-values",
          field: "devicePlugin.values.migStrategy",
          says: ["must be one of none, single, mixed", "refuses anything else"],
        },
        {
          check: "chart-values",
          field: "devicePlugin.values.failOnInitError",
          says: [
            "must be true or false",
            'the chart silently ignores a value that is not a boolean, such as the quoted "true"',
          ],
        },
        {
          check: "chart-values",
          field: "devicePlugin.values.updateStrategy",
          says: ["must be a mapping", "updateStrategy of a DaemonSet is a mapping"],
        },
      ],
    },
    {
      name: "An update strategy of the device plugin that no DaemonSet has",
      base: "plugin-on-1.13",
      change: yaml`
        devicePlugin: { values: { updateStrategy: { type: Recreate } } }
      `,
      findings: [
        {
          check: "chart-values",
          field: "devicePlugin.values.updateStrategy.type",
          says: [
            "must be one of RollingUpdate, OnDelete",
            "Kubernetes refuses any other type in the DaemonSet",
          ],
        },
      ],
    },
    {
      name: "Operator values that leave the machines without GPUs",
      base: "three-generations",
      change: yaml`
        gpuOperator:
          values:
            operator: { runtimeClass: nvidia-cdi }
            sandboxWorkloads: { defaultWorkload: vm-passthrough }
            gds: { enabled: true }
            node-feature-discovery: { master: { enable: false } }
      `,
      findings: [
        {
          check: "chart-values",
          field: "gpuOperator.values.operator.runtimeClass",
          says: [
            "must be nvidia",
            "GPU pods use the RuntimeClass nvidia, and the runtime in Talos' extension has the same name",
          ],
        },
        {
          check: "chart-values",
          field: "gpuOperator.values.sandboxWorkloads.defaultWorkload",
          says: [
            "must be container",
            "with any other value the operator runs no device plugin on the machines, and they offer no GPU (controllers/state_manager.go)",
          ],
        },
        {
          check: "chart-values",
          field: "gpuOperator.values.gds.enabled",
          says: ["must be false", "waits for the kernel module nvidia_fs", "to Talos 1.14"],
        },
        {
          check: "values-without-gpus",
          field: "gpuOperator.values.node-feature-discovery.master.enable",
          says: ["turns Node Feature Discovery's master off"],
        },
      ],
    },
    {
      name: "A value that the chart of an external release does not have",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator: null
        devicePlugin: null
        external:
          read:
            kind: gpuOperator
            by: Flux
            version: v26.3.3
            values:
              driver: { enabled: false }
              toolkit: { enabled: false }
              cdi: { enabled: false }
              operator: { defaultRuntime: containerd }
            places: { operator.defaultRuntime: hr.yaml:13 }
      `,
      findings: [
        {
          check: "chart-values",
          field: "external.values.operator.defaultRuntime",
          severity: "warning",
          says: [
            "the chart gpu-operator v26.3.3 does not have this value (hr.yaml:13); Helm ignores it without an error, so it has no effect; see `helm show values`, or leave it out",
          ],
        },
      ],
    },
  ],
  "operator-values": [
    {
      name: "The operator's own toolkit",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator:
          values: { toolkit: { enabled: true } }
      `,
      findings: [
        {
          check: "operator-values",
          field: "gpuOperator.values.toolkit.enabled",
          says: ["lets the operator install NVIDIA's toolkit", "read-only"],
        },
      ],
    },
    {
      name: "CDI on Talos 1.12",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator:
          values: { cdi: { enabled: true } }
      `,
      findings: [
        {
          check: "operator-values",
          field: "gpuOperator.values.cdi.enabled",
          says: ["enables CDI on Talos ≤ 1.12", "/usr/local/glibc"],
        },
      ],
    },
    {
      name: "A driver folder that Talos does not have",
      base: "modern",
      change: yaml`
        gpuOperator:
          values: { hostPaths: { driverInstallDir: /home/kubernetes/bin/nvidia } }
      `,
      findings: [
        {
          check: "operator-values",
          field: "gpuOperator.values.hostPaths.driverInstallDir",
          says: ["is a folder that Talos lacks and that no pod can create"],
        },
      ],
    },
    {
      name: "A MIG manager that waits for systemd",
      base: "mig",
      change: yaml`
        gpuOperator:
          values: { migManager: { version: v0.13.1 } }
      `,
      findings: [
        {
          check: "operator-values",
          field: "gpuOperator.values.migManager.version",
          says: ["v0.13.1 hangs on Talos", "leave it out (the default is v0.12.3-ubuntu20.04)"],
        },
      ],
    },
    {
      name: "The operator without the parts that Talos 1.15 needs",
      base: "next",
      change: yaml`
        gpuOperator:
          values:
            toolkit: { enabled: false, installDir: /usr/local/nvidia }
            cdi: { enabled: false, nriPluginEnabled: false }
      `,
      findings: [
        {
          check: "operator-values",
          field: "gpuOperator.values.toolkit.enabled",
          says: ["turns the operator's toolkit off", "leave it out"],
        },
        {
          check: "operator-values",
          field: "gpuOperator.values.toolkit.installDir",
          says: [
            "is /usr/local/nvidia",
            "/var and /opt",
            "leave it out (the default is /var/lib/nvidia)",
          ],
        },
        {
          check: "operator-values",
          field: "gpuOperator.values.cdi.enabled",
          says: ["disables CDI", "refuses its NRI plugin"],
        },
        {
          check: "operator-values",
          field: "gpuOperator.values.cdi.nriPluginEnabled",
          says: ["disables the NRI plugin", "gpu-operator#2382"],
        },
      ],
    },
  ],
  "values-without-gpus": [
    {
      name: "The operator's NRI plugin without CDI",
      base: "modern",
      change: yaml`
        gpuOperator:
          values: { cdi: { enabled: false, nriPluginEnabled: true } }
      `,
      findings: [
        {
          check: "values-without-gpus",
          field: "gpuOperator.values.cdi.nriPluginEnabled",
          says: ["enables the NRI plugin, which is part of the operator's container toolkit"],
        },
      ],
    },
    {
      name: "The operator's own driver",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator:
          values: { driver: { enabled: true } }
      `,
      findings: [
        {
          check: "values-without-gpus",
          field: "gpuOperator.values.driver.enabled",
          says: ["no driver image for Talos"],
        },
      ],
    },
    {
      name: "An operator without its device plugin",
      base: "modern",
      change: yaml`
        gpuOperator:
          values: { devicePlugin: { enabled: false } }
      `,
      findings: [
        {
          check: "values-without-gpus",
          field: "gpuOperator.values.devicePlugin.enabled",
          says: ["turns the device plugin off", "`dra: { version: 0.5.0 }`"],
        },
      ],
    },
    {
      name: "An operator without a ClusterPolicy",
      base: "modern",
      change: yaml`
        gpuOperator:
          version: v26.7.0
          values: { clusterPolicy: { deployCR: false } }
      `,
      findings: [
        {
          check: "values-without-gpus",
          field: "gpuOperator.values.clusterPolicy.deployCR",
          says: [
            "without a ClusterPolicy the operator installs no device plugin, and the node offers no GPU",
          ],
        },
      ],
    },
    {
      name: "Dynamic resource allocation together with the ClusterPolicy",
      base: "modern",
      change: yaml`
        gpuOperator:
          version: v26.7.0
          values: { gpuCluster: { deployCR: true } }
      `,
      findings: [
        {
          check: "values-without-gpus",
          field: "gpuOperator.values.gpuCluster.deployCR",
          says: ["refuses it together with a ClusterPolicy", "infra#2394"],
        },
      ],
    },
    {
      name: "The operator without Node Feature Discovery's worker",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator:
          values:
            node-feature-discovery: { worker: { enable: false } }
      `,
      findings: [
        {
          check: "values-without-gpus",
          field: "gpuOperator.values.node-feature-discovery.worker.enable",
          says: [
            "the operator finds GPU nodes only by the labels of Node Feature Discovery, so it would place no pod",
          ],
        },
      ],
    },
    {
      name: "MIG without the MIG manager",
      base: "mig",
      change: yaml`
        gpuOperator:
          values: { migManager: { enabled: false } }
      `,
      findings: [
        {
          check: "values-without-gpus",
          field: "gpuOperator.values.migManager.enabled",
          says: [
            "only the MIG manager splits the cards, so the node would offer whole cards or no cards",
          ],
        },
      ],
    },
    {
      name: "The plugin's chart without the plugin",
      base: "rtx3090-timeslicing",
      change: yaml`
        devicePlugin:
          values: { devicePlugin: { enabled: false } }
      `,
      findings: [
        {
          check: "values-without-gpus",
          field: "devicePlugin.values.devicePlugin.enabled",
          says: ["turns the device plugin off"],
        },
      ],
    },
    {
      name: "The operator's NRI plugin without its toolkit",
      base: "modern",
      change: yaml`
        gpuOperator:
          values: { cdi: { nriPluginEnabled: true } }
      `,
      findings: [
        {
          check: "values-without-gpus",
          field: "gpuOperator.values.cdi.nriPluginEnabled",
          says: ["container toolkit"],
        },
      ],
    },
  ],
  "operand-env": [
    {
      name: "An unknown MIG strategy as a variable of the operator's plugin",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator:
          values:
            devicePlugin:
              env: [{ name: MIG_STRATEGY, value: doubled }]
      `,
      findings: [
        {
          check: "operand-env",
          field: "gpuOperator.values.devicePlugin.env",
          says: ['MIG_STRATEGY is "doubled"', "one of none, single, mixed"],
        },
      ],
    },
  ],
};
