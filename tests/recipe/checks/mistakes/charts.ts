import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Mistakes about charts and their releases. */
export const chartsMistakes: Mistakes = {
  "kubernetes-mode": [
    {
      name: "The GPU Operator and the device plugin together",
      base: "rtx5070ti",
      change: yaml`
        devicePlugin: { version: 0.17.4 }
      `,
      findings: [
        {
          check: "kubernetes-mode",
          field: "devicePlugin",
          says: [
            "is set together with gpuOperator",
            "two GPU providers would hand out the same GPUs",
          ],
        },
      ],
    },
    {
      name: "Neither the GPU Operator nor the device plugin",
      base: "aarhus-h100",
      change: yaml`
        devicePlugin: null
      `,
      findings: [
        {
          check: "kubernetes-mode",
          field: "gpuOperator",
          says: ["is missing, and none of devicePlugin, dra and external is set"],
        },
      ],
    },
    {
      name: "external without a kind, together with the stack's own device plugin",
      base: "aarhus-h100",
      change: yaml`
        external: { files: [../flux/helmrelease.yaml] }
      `,
      findings: [
        {
          check: "kubernetes-mode",
          field: "external",
          says: ["is set together with devicePlugin"],
        },
        { check: "external", field: "external.kind", says: ["the files were not read"] },
      ],
    },
  ],
  "chart-version": [
    {
      name: "A chart release that is not a version",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator: { version: latest }
      `,
      findings: [
        {
          check: "chart-version",
          field: "gpuOperator.version",
          says: [
            '"latest" is not a release',
            "Helm would choose the newest release at each update",
          ],
        },
      ],
    },
    {
      name: "An operator that looks for the driver's devices in the wrong folder",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator: { version: v23.9.2 }
      `,
      findings: [
        {
          check: "chart-version",
          field: "gpuOperator.version",
          says: [
            '"v23.9.2" is not a supported release of the chart gpu-operator',
            "releases before v24.6.0",
          ],
        },
      ],
    },
    {
      name: "A version of the operator for the device plugin",
      base: "aarhus-h100",
      change: yaml`
        devicePlugin: { version: 25.3.4 }
      `,
      findings: [
        {
          check: "chart-version",
          field: "devicePlugin.version",
          says: [
            '"25.3.4" is not a supported release of the chart nvidia-device-plugin',
            "versions that begin with a year",
          ],
        },
      ],
    },
  ],
  "operator-version": [
    {
      name: "An operator release that crashes on Talos",
      base: "three-generations",
      change: yaml`
        gpuOperator: { version: v26.3.0 }
      `,
      findings: [
        {
          check: "operator-version",
          field: "gpuOperator.version",
          says: ["v26.3.0 does not run on Talos", "crashes", "v26.3.1"],
        },
      ],
    },
    {
      name: "An operator for Talos 1.12 on Talos 1.13",
      base: "three-generations",
      change: yaml`
        gpuOperator: { version: v25.10.1 }
      `,
      findings: [
        {
          check: "operator-version",
          field: "gpuOperator.version",
          says: ["v25.10.1 is older than v26.3.1, which Talos v1.13.9 needs"],
        },
      ],
    },
    {
      name: "Three mistakes in one stack: all are found",
      base: "modern",
      change: yaml`
        machines:
          gpu-2:
            containerd:
              extra: |
                version = 2
        gpuOperator: { version: v25.3.4 }
        workloads:
          pods:
            train: { env: { NVIDIA_VISIBLE_DEVICES: "0" } }
      `,
      findings: [
        {
          check: "operator-version",
          field: "gpuOperator.version",
          says: ["is older than v26.3.1"],
        },
        {
          check: "containerd-version",
          field: "machines.gpu-2.containerd.extra",
          says: ["sets `version`"],
        },
        {
          check: "visible-devices",
          field: "workloads.pods.train.env.NVIDIA_VISIBLE_DEVICES",
          says: [
            "it overrides the device plugin's choice of card, so the container also sees cards of other pods",
          ],
        },
      ],
    },
    {
      name: "An operator that cannot install the toolkit on Talos 1.15",
      base: "next",
      change: yaml`
        gpuOperator: { version: v26.3.3 }
      `,
      findings: [
        {
          check: "operator-version",
          field: "gpuOperator.version",
          says: ["v26.3.3 is older than v26.7.0", "use v26.7.0 or newer"],
        },
      ],
    },
  ],
  "plugin-namespace": [
    {
      name: "NVIDIA's pods in the namespace default",
      base: "aarhus-h100",
      change: yaml`
        devicePlugin: { namespace: default }
      `,
      findings: [
        {
          check: "plugin-namespace",
          field: "devicePlugin.namespace",
          says: ["is default", "baseline"],
        },
      ],
    },
  ],
  monitoring: [
    {
      name: "A dashboard without the exporter of its metrics",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator:
          values: { dcgmExporter: { enabled: false } }
        monitoring: { serviceMonitor: true }
      `,
      findings: [
        { check: "monitoring", field: "monitoring", says: ["dcgmExporter.enabled is false"] },
      ],
    },
  ],
  "all-cards": [
    {
      name: "A power limit and metrics with the DRA driver on Talos 1.15",
      base: "dra",
      change: yaml`
        talosVersion: v1.15.0
        monitoring: {}
        machines: { large: { powerLimit: 300 } }
      `,
      findings: [
        {
          check: "all-cards",
          field: "monitoring",
          says: [
            "is set together with dra on Talos v1.15.0",
            "use gpuOperator, or leave this field out",
          ],
        },
        {
          check: "all-cards",
          field: "machines.large.powerLimit",
          says: [
            "is set together with dra on Talos v1.15.0",
            "the pods for this field must see all cards without requesting them, and on this Talos version only the operator's toolkit makes that possible",
          ],
        },
      ],
    },
  ],
};
