import { refused, words, type WrongInputs } from "../inputs";
import { badImages } from "./images";

/** Wrong inputs of what exposes the GPUs. */
export const exposure: WrongInputs[] = [
  ...refused("rtx5070ti", "gpuOperator namespace", {
    shape: ["GPU", "gpu_operator", "a b", "-a", "a-", "a.b", "x".repeat(64), "", "$(id)", 1, null],
    "plugin-namespace": ["default", "kube-public", "kube-node-lease"],
  }),
  ...refused("rtx5070ti", "gpuOperator version", {
    "chart-version": [
      ...words("latest 25 ^25.0.0 constructor v25.10.x"),
      ...words("v1.11.1 0.19.3 v1.13.9 v22.3.0 v22.9.0 v23.9.2 v24.3.0"),
      "v25.10.1 ",
    ],
    shape: [undefined, 25.1, "", null],
  }),
  ...refused("rtx3090-timeslicing", "sharing timeSlicing replicas", {
    shape: ["4", 2.5, NaN, null, 1e9, 1e300, true],
    sharing: [1, 0, -4],
  }),
  ...refused("rtx3090-timeslicing", "sharing", {
    shape: [
      { timeslicing: { replicas: 2 } },
      [],
      "timeSlicing",
      null,
      { mig: {} },
      { mig: { strategy: "both", profile: "1g.10gb" } },
      { mps: 4 },
    ],
  }),
  ...refused("mig", "sharing mig profile", {
    mig: [
      ...words("constructor toString __proto__ 1g.18gb+foo 1g.18gb+ +me 1g 18gb 1g.18 1g.18GB 1G.18gb"),
      "1g 18gb",
      ...words("g.gb 1g.10gb 1g.12gb+me all-1g.10gb all all-"),
      "1g.18gb'; id #",
      ...words("$(id) 7g.141gb+me 1g.18gb+gfx 1g.18gb-me 1g.18gb+me+me 0g.18gb mixed"),
      "1g.18gb\n",
      "enabled",
    ],
    shape: [undefined, null, "", 1, [], ["1g.18gb"]],
  }),
  ...refused("modern", "monitoring", {
    shape: [
      { labels: { "a b": "c" } },
      { labels: { a: "b c" } },
      { labels: { a: 1 } },
      { namespace: "Monitoring" },
      { namespace: "a_b" },
      { serviceMonitor: "true" },
      true,
      [],
    ],
  }),
  ...refused("rtx5070ti", "smokeTestImage", { shape: [...badImages.slice(0, 6)] }),
  ...refused("rtx5070ti", "images powerLimit", { shape: [...badImages.slice(0, 4)] }),
  ...refused("rtx5070ti", "gpuOperator values", {
    "chart-values": [
      { mig: { strategy: "both" } },
      { daemonsets: { updateStrategy: "Recreate" } },
      // Chart values that the templates and programs do not take.
      { operator: { runtimeClass: "other" } },
      { gds: { enabled: true } },
      { sandboxWorkloads: { enabled: true, defaultWorkload: "vm-passthrough" } },
      { devicePlugin: { resources: "1Gi" } },
      { hostPaths: { rootFS: "relative" } },
    ],
    // What the templates hand on as it is.
    "chart-objects": [
      { devicePlugin: { env: [{ name: "DEVICE_LIST_STRATEGY", value: ["envvar"] }] } },
      { devicePlugin: { env: [{ name: "PASS_DEVICE_SPECS", value: true }] } },
      { validator: { plugin: { env: [{ name: "WITH_WORKLOAD", value: 1 }] } } },
      { devicePlugin: { env: [{ value: "x" }] } },
      { devicePlugin: { resources: { limits: { memory: "1GB" } } } },
      { operator: { resources: { requests: { cpu: "one" } } } },
      { operator: { nodeSelector: { "a b": "c" } } },
      { operator: { nodeSelector: { a: true } } },
      { operator: { imagePullSecrets: [{ name: "x" }] } },
      { daemonsets: { tolerations: [{ key: "nvidia.com/gpu", operator: "Exist" }] } },
      { daemonsets: { tolerations: [{ key: "nvidia.com/gpu", operator: "Exists", effect: "Never" }] } },
      { daemonsets: { annotations: { a: 1 } } },
      { daemonsets: { labels: { "bad key!": "x" } } },
      { daemonsets: { rollingUpdate: { maxUnavailable: "many" } } },
      { operator: { resources: { limit: { cpu: "1" } } } },
      { daemonsets: { priorityClassName: "System Critical" } },
      { dcgmExporter: { imagePullPolicy: "always" } },
      { "node-feature-discovery": { worker: { resources: { limits: { memory: "1 Gi" } } } } },
    ],
  }),
  ...refused("rtx5070ti", "gpuOperator values devicePlugin env", {
    "operand-env": [
      ...words("doubled Single mixed,single").map((value) => [{ name: "MIG_STRATEGY", value }]),
      [{ name: "MIG_STRATEGY", value: "" }],
      [{ name: "DEVICE_ID_STRATEGY", value: "uid" }],
      [{ name: "DEVICE_DISCOVERY_STRATEGY", value: "vfio" }],
      ...words("yes on 2 tRue").map((value) => [{ name: "PASS_DEVICE_SPECS", value }]),
      [
        { name: "FAIL_ON_INIT_ERROR", value: "false" },
        { name: "GDS_ENABLED", value: "no" },
      ],
    ],
  }),
  ...refused("rtx5070ti", "gpuOperator values gfd env", {
    "operand-env": [[{ name: "GFD_MIG_STRATEGY", value: "all" }], [{ name: "GFD_ONESHOT", value: "once" }]],
  }),
  ...refused("plugin-on-1.13", "devicePlugin", {
    "device-list-strategy": [
      { version: "0.14.5", values: { deviceListStrategy: "cdi-cri" } },
      { version: "0.13.0", values: { deviceListStrategy: "cdi-annotations" } },
      { version: "0.13.0", values: { deviceListStrategy: "envvar,volume-mounts" } },
    ],
  }),
  ...refused("velaryon", "devicePlugin values", { "chart-values": [{ migStrategy: "all" }, { migStrategy: true }] }),
  ...refused("velaryon", "devicePlugin version", { "chart-version": [...words("v26.3.3 25.10.1 0.10.0 0.9.0 0.0.1")] }),
  ...refused("aarhus-h100", "devicePlugin values", {
    "chart-values": [
      { runtimeClassName: "" },
      { runtimeClassName: null },
      { runtimeClassName: "runc" },
      { deviceIDStrategy: "uid" },
      { failOnInitError: "true" },
      { affinity: "null" },
      { namespaceOverride: "default" },
      { config: { map: "x" } },
      { nodeSelector: [] },
      { nvidiaDriverRoot: "usr/local" },
      { updateStrategy: "OnDelete" },
      { updateStrategy: { type: "Recreate" } },
    ],
    "chart-objects": [
      { resources: { limits: { memory: "1GB" } } },
      { resources: { limits: { cpu: "-1" } } },
      { tolerations: [{ key: "a b", operator: "Exists" }] },
      { tolerations: [{ key: "gpu", operator: "Exists", value: "true" }, { operator: "Exists" }] },
      { tolerations: [{ key: "gpu", value: true }, { operator: "Exists" }] },
      { imagePullSecrets: ["registry"] },
      { podAnnotations: { a: true } },
      { nameOverride: "Up Per" },
      { image: { repository: "Upper/Case" } },
      { image: { tag: "v0.17.4 " } },
      { tolerations: ["gpu", { operator: "Exists" }] },
      { tolerations: [{ operator: "Exists", tolerationSeconds: "5" }] },
      { image: { pullPolicy: "always" } },
      { nodeSelector: { rack: "a b" } },
    ],
  }),
  ...refused("aarhus-h100", "devicePlugin values config", {
    "plugin-config": [
      { map: { default: "version: v2" } },
      { map: { default: "flags: {migStrategy: both}" } },
      { map: { default: "not: [yaml" } },
      { map: { default: "text" } },
      { map: { default: "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 1}]}}" } },
      { map: { default: "sharing: {timeSlicing: {}}" } },
      { map: { a: "version: v1" }, default: "nope" },
      { name: "mine", map: { default: "version: v1" } },
    ],
  }),
];
