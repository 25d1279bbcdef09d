/** What every Helm release of a stack says. */
export interface ReleaseSpec {
  /**
   * Further chart values, merged over ours. A value that the chart does not have is refused.
   * @default none
   * @example `{ nfd: { enabled: false } }`
   */
  values?: Record<string, any>;
  /**
   * Name of an external Helm release of this chart in the namespace. The stack takes it over, and Helm upgrades it to
   * this version with only these values: the stack adds none. With the installed version and values, no pod changes.
   * Its namespace stays external. Keep the field afterwards. Stop its former installer before
   * (docs/use.md#take-a-release-over).
   * @default none: the stack installs its own
   * @example `nvdp`
   */
  takeOver?: string;
  /**
   * With true, the release, its namespace and the RuntimeClass stay in the cluster when they leave the stack. After one
   * update with `handBack: true`, replace this field by `external`, or destroy the stack.
   * @default `false`
   * @example `true`
   */
  handBack?: boolean;
}

/** NVIDIA GPU Operator. Exclusive with `devicePlugin`. */
export interface GpuOperatorSpec extends ReleaseSpec {
  /**
   * Chart release: v24.6.0 or newer, and with Talos ≥ 1.13 v26.3.1 or newer.
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
   * Chart repository, such as a mirror: `https://…` of one with an index, or `oci://…` of the folder in which the chart
   * is. The chart's values set where images come from (`operator.repository` and others).
   * @default `https://helm.ngc.nvidia.com/nvidia`
   * @example `oci://registry.example.org/charts`
   */
  repository?: string;
}

/**
 * NVIDIA's standalone device plugin. Exclusive with `gpuOperator`. From 1.13 on, Talos documents and tests only the
 * operator. The plugin works there too, with the values and the RuntimeClass that this package writes.
 */
export interface DevicePluginSpec extends ReleaseSpec {
  /**
   * Chart release: 0.11.0 or newer.
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
   * Chart repository, such as a mirror: `https://…` of one with an index, or `oci://…` of the folder in which the chart
   * is. The chart's values set where the image comes from (`image.repository`).
   * @default `https://nvidia.github.io/k8s-device-plugin`
   * @example `oci://ghcr.io/home-operations/charts-mirror`
   */
  repository?: string;
  /**
   * Whether the stack makes the RuntimeClass `nvidia`. With false another owner makes it, with the handler `nvidia`,
   * and the stack does not change it.
   * @default true, unless the program of the stacks (`GpuCluster.withFacts`) finds an external one in the cluster
   * @example `false`
   */
  makeRuntimeClass?: boolean;
}

/**
 * NVIDIA's driver for dynamic resource allocation (DRA): pods claim cards, and may say which. Exclusive with `gpuOperator` and
 * `devicePlugin`. It needs Talos 1.13 and Kubernetes 1.34, or newer.
 */
export interface DraSpec extends ReleaseSpec {
  /**
   * Chart release.
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
   * Chart repository, such as a mirror: `https://…` of one with an index, or `oci://…` of the folder in which the chart
   * is. The chart's values set where the image comes from (`image.repository`).
   * @default `oci://registry.k8s.io/dra-driver-nvidia/charts`
   * @example `oci://registry.example.org/charts`
   */
  repository?: string;
}

/**
 * LeaderWorkerSet: the controller that keeps a workload over several machines together. The stack installs it in the namespace
 * `lws-system`. A cluster has one.
 */
export interface LeaderWorkerSetSpec {
  /**
   * Chart release: 0.8.0 or newer.
   * @example `0.9.0`
   */
  version: string;
  /**
   * Chart repository, such as a mirror: `https://…` of one with an index, or `oci://…` of the folder in which the chart
   * is. The chart's values set where the image comes from (`image.manager.repository`).
   * @default `oci://registry.k8s.io/lws/charts`
   * @example `oci://registry.example.org/charts`
   */
  repository?: string;
  /**
   * Further chart values, merged over ours. A value that the chart does not have is refused.
   * @default none
   * @example `{ replicaCount: 2 }`
   */
  values?: Record<string, any>;
}

/** Metrics of the cards (DCGM exporter), for existing installations of Prometheus and Grafana. */
export interface MonitoringSpec {
  /**
   * Make a ServiceMonitor. The cluster must have the Prometheus Operator's definition of it, else a preview ends with
   * `servicemonitors.monitoring.coreos.com does not exist`. In a stack with `bootstrap: true`, set this only
   * after the cluster has the Prometheus Operator.
   * @default `false`
   * @example `true`
   */
  serviceMonitor?: boolean;
  /**
   * Make a PrometheusRule with alerts of cards that fail, each with a remedy. The exporter then also exports the
   * metrics that the alerts need. The cluster must have the Prometheus Operator, as with `serviceMonitor`.
   * @default `false`
   * @example `true`
   */
  alerts?: boolean;
  /**
   * Make a ConfigMap with a Grafana dashboard, which the sidecar of Grafana's chart loads by its label.
   * @default `true`
   * @example `false`
   */
  dashboard?: boolean;
  /**
   * Namespace of the dashboard; it must exist.
   * @default the release's, which Grafana's sidecar reads when it searches all
   * @example `monitoring`
   */
  namespace?: string;
  /**
   * Further labels of the ServiceMonitor and of the PrometheusRule, by which Prometheus selects them.
   * @default none
   * @example `{ release: kube-prometheus-stack }`
   */
  labels?: Record<string, string>;
}
