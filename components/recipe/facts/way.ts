import type { ChartName } from "./chart";

/** A field of a stack that says what offers the GPUs, and that the stack installs it. */
export type WayField = "gpuOperator" | "devicePlugin" | "dra";

/** What follows from what offers the GPUs to Kubernetes. */
export interface Way {
  /** Field of a stack that asks for it. */
  field: WayField;
  chart: ChartName;
  /** Its name in a sentence. */
  words: string;
  /** Repository of its chart. */
  repository: string;
  /** What has a pod on each machine whose cards it offers, and the name of that. */
  offers: { words: string; pods: RegExp };
  /** Whether it finds and labels the nodes with cards itself, and exports their metrics. */
  findsNodes: boolean;
  /** Class of the devices that pods claim; absent where they request a resource. A resource of a device plugin has a `/`, which no class has. */
  deviceClass?: string;
}

const plugin = {
  words: "the device plugin",
  pods: /device-plugin(?!.*?(?:device-plugin|mps|feature-discovery))/,
};

/** Every way, by its word in a plan. */
export const ways = {
  operator: {
    field: "gpuOperator",
    chart: "gpu-operator",
    words: "GPU Operator",
    repository: "https://helm.ngc.nvidia.com/nvidia",
    offers: plugin,
    findsNodes: true,
  },
  devicePlugin: {
    field: "devicePlugin",
    chart: "nvidia-device-plugin",
    words: "device plugin",
    repository: "https://nvidia.github.io/k8s-device-plugin",
    offers: plugin,
    findsNodes: false,
  },
  // Source: dra-driver-nvidia-gpu v0.5.0, deployments/helm (Chart.yaml, templates/kubeletplugin.yaml, deviceclass-gpu.yaml).
  dra: {
    field: "dra",
    chart: "dra-driver-nvidia-gpu",
    words: "DRA driver",
    repository: "oci://registry.k8s.io/dra-driver-nvidia/charts",
    offers: {
      words: "the DRA driver",
      pods: /(?:^|-)dra-driver(?:(?!dra-driver).)*-kubelet-plugin/,
    },
    findsNodes: false,
    deviceClass: "gpu.nvidia.com",
  },
} satisfies Record<string, Way>;

/** Who exposes the GPUs to Kubernetes. */
export type Mode = keyof typeof ways;

const modes = Object.keys(ways) as Mode[];

/** Fields of a stack, of which it has one at most. */
export const wayFields: readonly WayField[] = modes.map((mode) => ways[mode].field);

/** The way of a word in a plan. */
export const wayOf = (mode: Mode): Way => ways[mode];

/** The way of a chart. */
export const wayOfChart = (chart: ChartName): Way =>
  Object.values<Way>(ways).find((way) => way.chart === chart)!;

/** The way of a field. */
export const wayOfField = (field: WayField): Way =>
  Object.values<Way>(ways).find((way) => way.field === field)!;

/** The first way that a stack asks for; an operator where it asks for none, for a check to say so. */
export const modeOf = (spec: { [field in WayField]?: unknown }): Mode =>
  modes.find((mode) => spec[ways[mode].field] !== undefined) ?? "operator";

/** Whether what pods ask for is a class of devices, so that they claim them, and not a resource of the node. */
export const isDeviceClass = (asked: string): boolean => !asked.includes("/");

/**
 * LeaderWorkerSet's chart, and the definition of its kind. Its webhooks and their Service bear fixed names, and its program takes the
 * namespace for its own. Source: kubernetes-sigs/lws v0.9.0, charts/lws; README (oci://registry.k8s.io/lws/charts/lws).
 */
export const leaderWorkerSet = {
  chart: "lws",
  repository: "oci://registry.k8s.io/lws/charts",
  namespace: "lws-system",
  definition: "leaderworkersets.leaderworkerset.x-k8s.io",
  api: "leaderworkerset.x-k8s.io/v1",
  /** Label of its pods: `0` on the one that leads its group. */
  index: "leaderworkerset.sigs.k8s.io/worker-index",
  /** Label of its pods: the name of the set. */
  set: "leaderworkerset.sigs.k8s.io/name",
} as const;

/** A field of a stack that says a Helm release. */
export type ReleaseField = WayField | "leaderWorkerSet";

/** All of them. */
export const releaseFields: readonly ReleaseField[] = [...wayFields, "leaderWorkerSet"];

/** The chart of such a field. */
export const chartOfField = (field: ReleaseField): ChartName =>
  field === "leaderWorkerSet" ? leaderWorkerSet.chart : wayOfField(field).chart;
