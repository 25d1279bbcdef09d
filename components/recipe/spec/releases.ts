/** Fields that every Helm release of a GPU provider has. */
export interface ReleaseSpec {
  /**
   * Further chart values, merged over those that the stack sets. The checks refuse a value that the chart does not
   * have.
   * @default none
   * @example `{ nfd: { enabled: false } }`
   */
  values?: Record<string, any>;
  /**
   * Name of a Helm release of this chart that another tool installed in `namespace`. The stack takes over this release.
   * Helm upgrades it to `version`, and uses only the chart values in `values`: the stack adds no chart values. If
   * `version` and `values` are those of the installed release, no pod restarts. The stack does not take over the
   * namespace. First stop the tool that installed the release (docs/use.md#take-a-release-over). Keep the field
   * afterwards.
   * @default none: the stack installs its own release
   * @example `nvdp`
   */
  takeOver?: string;
  /**
   * Whether the release, its namespace and the RuntimeClass stay in the cluster when they leave the stack. After one
   * update with `handBack: true`, replace the GPU provider's field by `external`, or destroy the stack.
   * @default `false`
   * @example `true`
   */
  handBack?: boolean;
}

/** NVIDIA GPU Operator. Exclusive with `devicePlugin`, `dra` and `external`. */
export interface GpuOperatorSpec extends ReleaseSpec {
  /**
   * Release of the chart `gpu-operator`: v24.6.0 or newer; with Talos 1.13 and 1.14, v26.3.1 or newer; with Talos
   * 1.15, v26.7.0 or newer.
   * @example `v25.10.1`
   */
  version: string;
  /**
   * Namespace of the release.
   * @default `gpu-operator`
   * @example `nvidia-gpu-operator`
   */
  namespace?: string;
  /**
   * Chart repository, such as a mirror: `https://…` for a repository with an index, `oci://…` for the folder that
   * contains the chart. This field does not affect the images: their registry is in the chart's values
   * (`operator.repository` and others).
   * @default `https://helm.ngc.nvidia.com/nvidia`
   * @example `oci://registry.example.org/charts`
   */
  repository?: string;
}

/**
 * NVIDIA's standalone device plugin. Exclusive with `gpuOperator`, `dra` and `external`. From 1.13 on, Talos documents
 * and tests only the operator. The plugin also works on these releases, with the values and the RuntimeClass that this
 * package sets.
 */
export interface DevicePluginSpec extends ReleaseSpec {
  /**
   * Release of the chart `nvidia-device-plugin`: 0.11.0 or newer.
   * @example `0.17.4`
   */
  version: string;
  /**
   * Namespace of the release.
   * @default `nvidia-device-plugin`
   * @example `kube-system`
   */
  namespace?: string;
  /**
   * Chart repository, such as a mirror: `https://…` for a repository with an index, `oci://…` for the folder that
   * contains the chart. This field does not affect the image: its registry is in the chart's values
   * (`image.repository`).
   * @default `https://nvidia.github.io/k8s-device-plugin`
   * @example `oci://ghcr.io/home-operations/charts-mirror`
   */
  repository?: string;
  /**
   * Whether the stack creates the RuntimeClass `nvidia`. With `false`, another tool must create it, with the handler
   * `nvidia`, and the stack does not change it.
   * @default `true`; `false` if the preview finds an external RuntimeClass `nvidia` in the cluster (in your own program:
   * `GpuCluster.withFacts`)
   * @example `false`
   */
  makeRuntimeClass?: boolean;
}

/**
 * NVIDIA's driver for dynamic resource allocation (DRA): pods claim cards, and may set conditions for the cards.
 * Exclusive with `gpuOperator`, `devicePlugin` and `external`. It needs Talos 1.13 and Kubernetes 1.34, or newer.
 */
export interface DraSpec extends ReleaseSpec {
  /**
   * Release of the chart `dra-driver-nvidia-gpu`. Releases that begin with a year belong to NVIDIA's former chart,
   * and are refused.
   * @example `0.5.0`
   */
  version: string;
  /**
   * Namespace of the release.
   * @default `dra-driver-nvidia-gpu`
   * @example `nvidia-dra`
   */
  namespace?: string;
  /**
   * Chart repository, such as a mirror: `https://…` for a repository with an index, `oci://…` for the folder that
   * contains the chart. This field does not affect the image: its registry is in the chart's values
   * (`image.repository`).
   * @default `oci://registry.k8s.io/dra-driver-nvidia/charts`
   * @example `oci://registry.example.org/charts`
   */
  repository?: string;
}

/**
 * LeaderWorkerSet: the controller that manages the pods of a workload over several machines as one group. The stack
 * installs it in the namespace `lws-system`. A cluster can have only one LeaderWorkerSet controller.
 */
export interface LeaderWorkerSetSpec {
  /**
   * Release of the chart `lws`: 0.8.0 or newer.
   * @example `0.9.0`
   */
  version: string;
  /**
   * Chart repository, such as a mirror: `https://…` for a repository with an index, `oci://…` for the folder that
   * contains the chart. This field does not affect the image: its registry is in the chart's values
   * (`image.manager.repository`).
   * @default `oci://registry.k8s.io/lws/charts`
   * @example `oci://registry.example.org/charts`
   */
  repository?: string;
  /**
   * Further chart values, merged over those that the stack sets. The checks refuse a value that the chart does not
   * have.
   * @default none
   * @example `{ replicaCount: 2 }`
   */
  values?: Record<string, any>;
}

/**
 * Metrics of the cards, by the DCGM exporter. The cluster must already have Prometheus, and Grafana for the dashboard.
 */
export interface MonitoringSpec {
  /**
   * Make a ServiceMonitor for the DCGM exporter. The cluster must have the Prometheus Operator's CRD for
   * ServiceMonitors. Without the CRD, a preview fails with `servicemonitors.monitoring.coreos.com does not exist`. In a
   * stack with `bootstrap: true`, set this only after the cluster has the Prometheus Operator.
   * @default `false`
   * @example `true`
   */
  serviceMonitor?: boolean;
  /**
   * Make a PrometheusRule with alerts for failing cards, each with a remedy. The exporter then also exports the
   * metrics that the alerts need. The cluster must have the Prometheus Operator. In a stack with `bootstrap: true`,
   * set this only after the cluster has the operator.
   * @default `false`
   * @example `true`
   */
  alerts?: boolean;
  /**
   * Make a ConfigMap with a Grafana dashboard. The sidecar of Grafana's chart loads it by the label
   * `grafana_dashboard`.
   * @default `true`
   * @example `false`
   */
  dashboard?: boolean;
  /**
   * Namespace of the dashboard's ConfigMap; it must exist. Grafana's sidecar must search this namespace.
   * @default the namespace of the GPU provider
   * @example `monitoring`
   */
  namespace?: string;
  /**
   * Further labels of the ServiceMonitor and of the PrometheusRule. Prometheus selects these objects by their labels.
   * @default none
   * @example `{ release: kube-prometheus-stack }`
   */
  labels?: Record<string, string>;
}
