import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Mistakes in objects of Kubernetes among chart values. */
export const chartObjectsMistakes: Mistakes = {
  "chart-objects": [
    {
      name: "Memory in GB, and a toleration with an unknown operator",
      base: "aarhus-h100",
      change: yaml`
        devicePlugin:
          values:
            resources: { limits: { memory: 1GB } }
            tolerations: [{ key: nvidia.com/gpu, operator: Exist }]
      `,
      findings: [
        {
          check: "chart-objects",
          field: "devicePlugin.values.resources.limits.memory",
          says: ['"1GB" is not a quantity'],
        },
        {
          check: "chart-objects",
          field: "devicePlugin.values.tolerations[0].operator",
          says: ['"Exist" is not one of Exists, Equal, Lt, Gt'],
        },
      ],
    },
    {
      name: "A variable of the device plugin with an empty name",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator:
          values:
            devicePlugin:
              env: [{ name: "", value: a }]
      `,
      findings: [
        {
          check: "chart-objects",
          field: "gpuOperator.values.devicePlugin.env[0].name",
          says: ["is not a name for an environment variable"],
        },
      ],
    },
    {
      name: "Operator values that are not valid in Kubernetes objects",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator:
          values:
            devicePlugin:
              version: v1/2
              image: K8S Plugin
              imagePullSecrets: [{ name: registry }]
            dcgmExporter: { serviceMonitor: { interval: often } }
            daemonsets:
              annotations: { a: 1 }
              tolerations: [{}]
      `,
      findings: [
        {
          check: "chart-objects",
          field: "gpuOperator.values.daemonsets.annotations.a",
          says: ["1 is not a string", "write it in quotes"],
        },
        {
          check: "chart-objects",
          field: "gpuOperator.values.daemonsets.tolerations[0]",
          says: ["is not a toleration", "write e.g. `{ operator: Exists }`"],
        },
        {
          check: "chart-objects",
          field: "gpuOperator.values.dcgmExporter.serviceMonitor.interval",
          says: ['"often" is not a duration that Prometheus accepts', "`30s`"],
        },
        {
          check: "chart-objects",
          field: "gpuOperator.values.devicePlugin.image",
          says: ['"K8S Plugin" is not an image name', "`k8s-device-plugin`"],
        },
        {
          check: "chart-objects",
          field: "gpuOperator.values.devicePlugin.version",
          says: ['"v1/2" is not an image tag', "`v0.19.3`"],
        },
        {
          check: "chart-objects",
          field: "gpuOperator.values.devicePlugin.imagePullSecrets[0]",
          says: ["is not a name", "write only the Secret's name"],
        },
      ],
    },
    {
      name: "Labels as a list",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator:
          values:
            daemonsets: { labels: [team] }
      `,
      findings: [
        {
          check: "chart-objects",
          field: "gpuOperator.values.daemonsets.labels",
          says: ["is a list but must be a mapping", "write each entry as `key: value`"],
        },
        {
          check: "chart-values",
          field: "gpuOperator.values.daemonsets.labels",
          says: ["must be a mapping"],
        },
      ],
    },
    {
      name: "Device plugin values that are not valid in Kubernetes objects",
      base: "aarhus-h100",
      change: yaml`
        devicePlugin:
          values:
            imagePullSecrets: [registry]
            tolerations:
              - { key: nvidia.com/gpu, operator: Exists, value: present }
              - { key: nvidia.com/gpu, effects: NoSchedule }
            updateStrategy: { rollingUpdate: { maxUnavailable: some } }
            nodeSelector: { team: true }
            affinity:
              nodeAffinity: [{}]
      `,
      findings: [
        {
          check: "chart-objects",
          field: "devicePlugin.values.imagePullSecrets[0]",
          says: ["is not a mapping with a name", "write `{ name: <Secret> }`"],
        },
        {
          check: "chart-objects",
          field: "devicePlugin.values.tolerations[0].value",
          says: ["is set together with `operator: Exists`", "write `operator: Equal`"],
        },
        {
          check: "chart-objects",
          field: "devicePlugin.values.tolerations[1].effects",
          says: ["is not a field of this object", 'did you mean "effect"?'],
        },
        {
          check: "chart-objects",
          field: "devicePlugin.values.updateStrategy.rollingUpdate.maxUnavailable",
          says: ['"some" is not a number of pods', "write e.g. `1` or `25%`"],
        },
        {
          check: "chart-objects",
          field: "devicePlugin.values.nodeSelector.team",
          says: ["true is not a string"],
        },
        {
          check: "chart-objects",
          field: "devicePlugin.values.affinity.nodeAffinity",
          says: ["the value is not a mapping"],
        },
      ],
    },
  ],
};
