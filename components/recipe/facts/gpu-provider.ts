import type { ChartName } from "./chart";

/** A field of a stack that installs a GPU provider. */
export type GpuProviderField = "gpuOperator" | "devicePlugin" | "dra";

/** The chart that makes the nodes' GPUs known to Kubernetes: the GPU Operator, the device plugin or the DRA driver. */
export interface GpuProvider {
  /** Field of a stack that selects this GPU provider. */
  field: GpuProviderField;
  chart: ChartName;
  /** Name of the GPU provider in a sentence. */
  words: string;
  /** Repository of its chart. */
  repository: string;
  /**
   * Pods on each GPU node that make the node's cards known to Kubernetes: the program's name in a sentence, and a
   * pattern of the pods' names.
   */
  offers: { words: string; pods: RegExp };
  /** Whether the GPU provider itself finds and labels the nodes with cards, and exports the cards' metrics. */
  findsNodes: boolean;
  /**
   * DeviceClass of the devices that pods claim; absent if pods request a resource instead. A resource's name has a `/`,
   * and a class's name has none.
   */
  deviceClass?: string;
}

const plugin = {
  words: "the device plugin",
  pods: /device-plugin(?!.*?(?:device-plugin|mps|feature-discovery))/,
};

/** All GPU providers, by their names in a plan (`kubernetes.mode`). */
export const gpuProviders = {
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
  // Source: dra-driver-nvidia-gpu v0.5.0, deployments/helm (Chart.yaml, templates/kubeletplugin.yaml,
  // deviceclass-gpu.yaml).
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
} satisfies Record<string, GpuProvider>;

/** Name of a GPU provider in a plan. */
export type GpuProviderName = keyof typeof gpuProviders;

const names = Object.keys(gpuProviders) as GpuProviderName[];

/** Fields of GPU providers. A stack has at most one of them. */
export const gpuProviderFields: readonly GpuProviderField[] = names.map(
  (name) => gpuProviders[name].field,
);

/** The GPU provider with a name. */
export const gpuProviderOf = (name: GpuProviderName): GpuProvider => gpuProviders[name];

/** The GPU provider with a chart. */
export const gpuProviderOfChart = (chart: ChartName): GpuProvider =>
  Object.values<GpuProvider>(gpuProviders).find((provider) => provider.chart === chart)!;

/** The GPU provider with a field. */
export const gpuProviderOfField = (field: GpuProviderField): GpuProvider =>
  Object.values<GpuProvider>(gpuProviders).find((provider) => provider.field === field)!;

/**
 * The first GPU provider that a stack selects. If the stack selects none, the function returns the operator, and a
 * check refuses the stack.
 */
export const gpuProviderNameOf = (spec: {
  [field in GpuProviderField]?: unknown;
}): GpuProviderName =>
  names.find((name) => spec[gpuProviders[name].field] !== undefined) ?? "operator";

/** Whether a name is a DeviceClass, whose devices pods claim, and not a resource of the node. */
export const isDeviceClass = (resourceOrClass: string): boolean => !resourceOrClass.includes("/");

/**
 * LeaderWorkerSet's chart and CRD. The chart's webhooks and their Service have fixed names, and its controller uses a
 * whole namespace. So a cluster can have only one release of the chart. Source: kubernetes-sigs/lws v0.9.0, charts/lws;
 * README (oci://registry.k8s.io/lws/charts/lws).
 */
export const leaderWorkerSet = {
  chart: "lws",
  repository: "oci://registry.k8s.io/lws/charts",
  namespace: "lws-system",
  definition: "leaderworkersets.leaderworkerset.x-k8s.io",
  api: "leaderworkerset.x-k8s.io/v1",
  /** Label of a LeaderWorkerSet's pods with the pod's index in its group; the leader has `0`. */
  index: "leaderworkerset.sigs.k8s.io/worker-index",
  /** Label of a LeaderWorkerSet's pods with the name of the LeaderWorkerSet. */
  set: "leaderworkerset.sigs.k8s.io/name",
} as const;

/** A field of a stack that describes a Helm release. */
export type ReleaseField = GpuProviderField | "leaderWorkerSet";

/** All fields of a stack that describe a Helm release. */
export const releaseFields: readonly ReleaseField[] = [...gpuProviderFields, "leaderWorkerSet"];

/** The chart of a field that describes a Helm release. */
export const chartOfField = (field: ReleaseField): ChartName =>
  field === "leaderWorkerSet" ? leaderWorkerSet.chart : gpuProviderOfField(field).chart;
