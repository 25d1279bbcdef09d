import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Mistakes about a release that another tool installs. */
export const externalMistakes: Mistakes = {
  external: [
    {
      name: "Flux installs the operator with the chart's default driver and toolkit, and CDI for Talos 1.13",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator: null
        sharing: { timeSlicing: { replicas: 4 } }
        patches:
          - "machine: { kubelet: { extraArgs: { register-with-taints: 'workload=ai:NoSchedule' } } }"
        external:
          read:
            kind: gpuOperator
            by: Flux
            version: v25.10.1
            values:
              driver: { enabled: true }
              devicePlugin: { nodeSelector: { gpu: "true" } }
              cdi: { enabled: true }
            places:
              driver.enabled: hr.yaml:12
              devicePlugin: hr.yaml:13
              cdi.enabled: hr.yaml:16
      `,
      findings: [
        {
          check: "external",
          field: "sharing",
          says: ["set the sharing", "set sharing in those values (for MIG, set mig.strategy"],
        },
        {
          check: "external",
          field: "external.values.driver.enabled",
          says: ["(hr.yaml:12)", "write `driver: { enabled: false }`"],
        },
        {
          check: "external",
          field: "external.values.toolkit.enabled",
          says: ["is not set to false, and the chart's default is true"],
        },
        {
          check: "external",
          field: "external.values.cdi.enabled",
          says: ["until the machines run Talos 1.13"],
        },
        {
          check: "external",
          field: "external.values.daemonsets.tolerations",
          says: ["the chart's default does not tolerate workload=ai:NoSchedule"],
        },
      ],
    },
    {
      name: "Another tool installs the DRA driver with the chart's default driver root; a power limit",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator: null
        external: { kind: dra, values: { gpuResourcesEnabledOverride: true } }
        machines: { k8s-worker4: { powerLimit: 250 } }
        workloads: { ollama: null, litellm: null, pods: null, comfyui: {} }
      `,
      findings: [
        {
          check: "external",
          field: "external.values.nvidiaDriverRoot",
          says: [
            "the DRA driver's init container waits forever for libnvidia-ml.so.1 and for an nvidia-smi that is not a link (dra-driver-nvidia-gpu#605)",
          ],
        },
        {
          check: "all-cards",
          field: "machines.k8s-worker4.powerLimit",
          says: ["set external.runtimeClassName to a RuntimeClass whose handler is nvidia"],
        },
      ],
    },
    {
      name: "Another tool's operator on Talos 1.15 with the values of Talos 1.14",
      base: "next",
      change: yaml`
        gpuOperator: null
        external:
          kind: gpuOperator
          version: v26.7.0
          runtimeClassName: nvidia
          values: { driver: { enabled: false }, toolkit: { enabled: false } }
      `,
      findings: [
        {
          check: "external",
          field: "external.runtimeClassName",
          says: ["names a RuntimeClass on Talos v1.15.0-beta.0"],
        },
        {
          check: "external",
          field: "external.values.cdi.nriPluginEnabled",
          says: ["is not set", "write `cdi: { nriPluginEnabled: true }`"],
        },
        {
          check: "external",
          field: "external.values.toolkit.installDir",
          says: ["is not set, and the chart's default is /usr/local/nvidia", "/var/lib/nvidia"],
        },
        {
          check: "operator-values",
          field: "external.values.toolkit.enabled",
          says: ["turns the operator's toolkit off"],
        },
      ],
    },
    {
      name: "Files that cannot be read",
      base: "one-card",
      change: yaml`
        gpuOperator: null
        external:
          files: [release.yaml]
          read: { unread: [release.yaml cannot be read (ENOENT)] }
      `,
      findings: [
        {
          check: "external",
          field: "external.files",
          says: ["release.yaml cannot be read (ENOENT)"],
        },
      ],
    },
    {
      name: "external without a kind",
      base: "one-card",
      change: yaml`
        gpuOperator: null
        external: { version: v26.3.3 }
      `,
      findings: [{ check: "external", field: "external.kind", says: ["is missing"] }],
    },
    {
      name: "A ServiceMonitor for an operator that another tool installs",
      base: "one-card",
      change: yaml`
        gpuOperator: null
        monitoring: { serviceMonitor: true }
        external: { kind: gpuOperator, version: v26.3.3 }
      `,
      findings: [
        {
          check: "external",
          field: "monitoring.serviceMonitor",
          says: ["is set together with external"],
        },
      ],
    },
    {
      name: "A device plugin of another tool that uses CDI without a driver root",
      base: "plugin-on-1.13",
      change: yaml`
        devicePlugin: null
        external:
          kind: devicePlugin
          version: 0.19.3
          values: { deviceListStrategy: cdi-cri, runtimeClassName: nvidia }
      `,
      findings: [
        {
          check: "external",
          field: "external.values.nvidiaDriverRoot",
          says: ["is not set, but deviceListStrategy selects CDI", "write `nvidiaDriverRoot: /`"],
        },
      ],
    },
  ],
  "all-cards": [
    {
      name: "An external operator without a RuntimeClass, whose toolkit does not list this package's namespace",
      base: "next",
      change: yaml`
        gpuOperator: null
        external:
          kind: gpuOperator
          version: v26.7.0
          values:
            driver: { enabled: false }
            toolkit: { installDir: /opt/nvidia }
            cdi: { nriPluginEnabled: true }
      `,
      findings: [
        {
          check: "all-cards",
          field: "external.values.toolkit.env",
          says: [
            "does not list talos-gpu in NRI_MANAGEMENT_CDI_DEVICE_NAMESPACES",
            "the operator's toolkit gives all cards only to pods in the listed namespaces, so the pods that set power limits would fail with NVML: ERROR_LIBRARY_NOT_FOUND",
          ],
        },
      ],
    },
  ],
};
