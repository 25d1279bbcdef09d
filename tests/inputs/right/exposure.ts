import { yaml } from "../../support/yaml";
import type { RightValues } from "../values";

/** Right values of the fields of the GPU provider. */
export const exposure: RightValues[] = [
  {
    base: "rtx5070ti",
    field: "gpuOperator.namespace",
    values: ["gpu-operator", "nvidia", "kube-system", "a", "x".repeat(63), "0", "gpu-1"],
  },
  {
    base: "aarhus-h100",
    field: "devicePlugin.namespace",
    values: ["nvidia-device-plugin", "kube-system", "gpu"],
  },
  {
    base: "rtx3090-timeslicing",
    field: "sharing.timeSlicing.replicas",
    values: [2, 3, 10, 48, 100],
  },
  {
    base: "rtx3090-timeslicing",
    field: "sharing.timeSlicing.renameByDefault",
    values: [true, false],
  },
  {
    base: "mig",
    field: "sharing.mig.profile",
    values: [
      "1g.18gb",
      "all-1g.18gb",
      "1g.18gb+me",
      "all-1g.18gb.me",
      "1g.35gb",
      "2g.35gb",
      "3g.71gb",
      "4g.71gb",
      "7g.141gb",
      "all-7g.141gb",
      "disabled",
      "all-disabled",
    ],
  },
  {
    base: "mig",
    field: "sharing.mig",
    values: [
      { strategy: "mixed", profile: "all-balanced" },
      { strategy: "mixed", profile: "1g.18gb" },
      { strategy: "mixed", profile: "all-disabled" },
      { strategy: "mixed", profile: "1g.18gb+me" },
    ],
  },
  {
    base: "modern",
    field: "monitoring",
    values: [
      {},
      { serviceMonitor: true },
      { alerts: true },
      { dashboard: false, namespace: "monitoring" },
      { labels: { release: "kube-prometheus-stack" } },
      { labels: {} },
    ],
  },
  {
    base: "rtx5070ti",
    field: "smokeTestImage",
    values: [
      "registry.lan:5000/cuda-sample:vectoradd",
      `registry.lan/sample@sha256:${"0123456789abcdef".repeat(4)}`,
    ],
  },
  {
    base: "rtx5070ti",
    field: "images",
    values: [
      {},
      { validationMarkers: "registry.lan/busybox:1.37" },
      { powerLimit: "ubuntu", dcgmExporter: "registry.lan:5000/nvidia/dcgm-exporter:4.4.1" },
    ],
  },
  {
    base: "rtx5070ti",
    field: "gpuOperator.values",
    values: [
      { dcgmExporter: { env: [{ name: "DCGM_EXPORTER_INTERVAL", value: "15000" }] } },
      {
        dcgmExporter: {
          env: [{ name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } }],
        },
      },
      { daemonsets: { updateStrategy: "OnDelete" } },
      { operator: { resources: { limits: { cpu: 1, memory: "1Gi" }, requests: { cpu: "200m" } } } },
      { operator: { imagePullSecrets: ["registry"], nodeSelector: { rack: "b2" } } },
      { daemonsets: { tolerations: [{ operator: "Exists" }], annotations: { a: "1" } } },
      { "node-feature-discovery": { imagePullSecrets: [{ name: "registry" }] } },
      {
        dcgmExporter: {
          serviceMonitor: {
            enabled: true,
            interval: "1m30s",
            honorLabels: true,
            relabelings: [{}],
          },
        },
      },
      {
        "node-feature-discovery": {
          worker: { config: { core: { sleepInterval: "120s" } } },
          gc: { enable: false },
        },
      },
      { validator: { image: "gpu-operator-validator", version: `sha256:${"0".repeat(64)}` } },
      {
        devicePlugin: {
          env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "x", key: "y" } } }],
        },
      },
    ],
  },
  {
    base: "aarhus-h100",
    field: "devicePlugin.values",
    values: [
      { runtimeClassName: "nvidia" },
      { deviceIDStrategy: "index", failOnInitError: false },
      { affinity: null },
      { affinity: [] },
      { affinity: "" },
      {
        config: {
          map: {
            default: yaml`
              version: v1
              flags:
                migStrategy: none
            `,
            other: yaml`version: v1`,
          },
          default: "other",
        },
      },
      { namespaceOverride: "" },
      {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [
                { matchExpressions: [{ key: "rack", operator: "In", values: ["b2"] }] },
              ],
            },
          },
          podAntiAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              {
                weight: 1,
                podAffinityTerm: {
                  topologyKey: "rack",
                  labelSelector: { matchLabels: { a: "b" } },
                },
              },
            ],
          },
        },
      },
      {
        gfd: { enabled: true },
        nfd: { gc: { enable: false }, worker: { tolerations: [{ operator: "Exists" }] } },
      },
      {
        config: {
          map: {
            default: yaml`
              version: v1
              flags: { plugin: { deviceListStrategy: [envvar, cdi-cri] }, futureFlag: 1 }
            `,
          },
        },
      },
      { securityContext: { capabilities: { add: ["SYS_ADMIN"] }, runAsUser: 0, privileged: true } },
      { imagePullSecrets: [{ name: "registry" }], image: { pullPolicy: "Always" } },
      { resources: { limits: { memory: "128Mi", cpu: null }, requests: { cpu: 0.1 } } },
      {
        tolerations: [
          { operator: "Exists" },
          { key: "gpu", operator: "Equal", value: "true", effect: "NoSchedule" },
        ],
      },
      { updateStrategy: { type: "OnDelete" }, podAnnotations: { a: "1" }, nvidiaDriverRoot: "/" },
    ],
  },
  {
    base: "velaryon",
    field: "devicePlugin.version",
    values: ["0.14.0", "0.14.5", "0.15.1", "v0.17.4", "0.18.2", "0.20.0", "0.21.0"],
  },
  {
    base: "rtx5070ti",
    field: "gpuOperator.version",
    values: ["v24.9.0", "25.3.4", "v26.3.3", "v26.7.2", "v27.1.0"],
  },
  {
    base: "aarhus-h100",
    field: "devicePlugin.namespace",
    values: [undefined],
  },
  {
    base: "mig",
    field: "sharing.mig",
    values: [undefined],
  },
];
