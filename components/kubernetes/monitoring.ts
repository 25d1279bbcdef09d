import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { alertRules } from "../diagnosis/alerts";
import { dashboardFor, exporterCounters, exporterRelease } from "../recipe/cluster/exporter";
import type { MonitoringSpec } from "../recipe/spec/index";
import { isDeviceClass, gpuProviderOf } from "../recipe/facts/gpu-provider";
import { daemonLabel } from "../recipe/machine/daemon-labels";
import type { KubernetesRecipe, Plan } from "../recipe/types";
import { administrator, classOf, daemonSet, labels } from "./pods";

const component = "nvidia-dcgm-exporter";
const port = 9400;

/**
 * Creates the objects for metrics of the cards. The GPU Operator installs exporter and ServiceMonitor by chart values.
 * The charts of the standalone device plugin and of the DRA driver have neither, so this function creates both for
 * them. It always creates the dashboard.
 */
export function gpuMonitoring(name: string, plan: Plan, opts: pulumi.CustomResourceOptions): void {
  const recipe = plan.kubernetes;
  const spec = plan.spec.monitoring;
  if (spec === undefined) return;
  const definition = spec.serviceMonitor
    ? prometheusOperator(name, "servicemonitor", opts)
    : undefined;
  if (spec.alerts) alerts(name, plan, spec, opts);
  if (!gpuProviderOf(recipe.mode).findsNodes) exporter(name, recipe, spec, definition, opts);
  if (spec.dashboard ?? true) dashboard(name, recipe, spec, opts);
}

/**
 * Reads a CRD of the Prometheus Operator. If the CRD is missing, the preview fails at this resource, before any machine
 * changes. Without this check the update would fail at its end, and the GPU Operator would silently skip its
 * ServiceMonitor (gpu-operator, controllers/object_controls.go).
 */
function prometheusOperator(
  name: string,
  kind: "servicemonitor" | "prometheusrule",
  { dependsOn: _after, ...opts }: pulumi.CustomResourceOptions,
): k8s.apiextensions.v1.CustomResourceDefinition {
  const { CustomResourceDefinition } = k8s.apiextensions.v1;
  return CustomResourceDefinition.get(
    `${name}-${kind}-needs-prometheus-operator`,
    `${kind}s.monitoring.coreos.com`,
    opts,
  );
}

/** Alert rules for the cards, and the exporter metrics that they need. */
function alerts(
  name: string,
  plan: Plan,
  spec: MonitoringSpec,
  opts: pulumi.CustomResourceOptions,
): void {
  const { namespace } = plan.kubernetes;
  const { configMap, file, csv } = exporterCounters;
  new k8s.core.v1.ConfigMap(
    `${name}-dcgm-exporter-counters`,
    { metadata: { name: configMap, namespace, labels: labels(component) }, data: { [file]: csv } },
    opts,
  );
  new k8s.apiextensions.CustomResource(
    `${name}-alerts`,
    {
      apiVersion: "monitoring.coreos.com/v1",
      kind: "PrometheusRule",
      metadata: { name: "nvidia-gpu", namespace, labels: { ...labels("alerts"), ...spec.labels } },
      spec: { groups: [{ name: "nvidia-gpu", rules: alertRules(plan) }] },
    },
    pulumi.mergeOptions(opts, { dependsOn: [prometheusOperator(name, "prometheusrule", opts)] }),
  );
}

/** The exporter, its Service and, if the CRD exists, its ServiceMonitor. */
function exporter(
  name: string,
  recipe: KubernetesRecipe,
  spec: MonitoringSpec,
  definition: pulumi.Resource | undefined,
  opts: pulumi.CustomResourceOptions,
): void {
  const folder = "/etc/talos-gpu";
  const pod: k8s.types.input.core.v1.PodSpec = {
    ...classOf(recipe),
    nodeSelector: { ...recipe.nodeSelector, [daemonLabel.dcgmExporter]: "true" },
    containers: [
      {
        name: "exporter",
        image: recipe.images.dcgmExporter,
        ports: [{ name: "metrics", containerPort: port }],
        env: [
          { name: "DCGM_EXPORTER_LISTEN", value: `:${port}` },
          // Adds the name of the pod that uses a card, from the kubelet's socket.
          { name: "DCGM_EXPORTER_KUBERNETES", value: "true" },
          ...resourceNames(recipe),
          ...(spec.alerts
            ? [{ name: "DCGM_EXPORTER_COLLECTORS", value: `${folder}/${exporterCounters.file}` }]
            : []),
          { name: "NODE_NAME", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
          // All cards without a request, because the pod only reads the cards and does not compute on them.
          { name: "NVIDIA_VISIBLE_DEVICES", value: "all" },
        ],
        // Profiling metrics need an administrator (dcgm-exporter, README).
        securityContext: administrator,
        resources: { requests: { cpu: "50m", memory: "256Mi" }, limits: { memory: "1Gi" } },
        readinessProbe: { httpGet: { path: "/health", port: "metrics" }, periodSeconds: 10 },
        livenessProbe: {
          httpGet: { path: "/health", port: "metrics" },
          initialDelaySeconds: 45,
          periodSeconds: 10,
        },
        volumeMounts: [
          { name: "pod-resources", mountPath: "/var/lib/kubelet/pod-resources", readOnly: true },
          ...(spec.alerts ? [{ name: "counters", mountPath: folder, readOnly: true }] : []),
        ],
      },
    ],
    volumes: [
      { name: "pod-resources", hostPath: { path: "/var/lib/kubelet/pod-resources" } },
      ...(spec.alerts
        ? [{ name: "counters", configMap: { name: exporterCounters.configMap } }]
        : []),
    ],
  };
  daemonSet(`${name}-dcgm-exporter`, component, recipe, pod, opts);
  const metadata = { name: component, namespace: recipe.namespace, labels: labels(component) };
  new k8s.core.v1.Service(
    `${name}-dcgm-exporter-service`,
    {
      metadata: { ...metadata, annotations: { "pulumi.com/skipAwait": "true" } }, // the DaemonSet's readiness tells
      spec: {
        selector: labels(component),
        ports: [{ name: "metrics", port, targetPort: "metrics" }],
      },
    },
    opts,
  );
  if (definition === undefined) return;
  new k8s.apiextensions.CustomResource(
    `${name}-dcgm-exporter-monitor`,
    {
      apiVersion: "monitoring.coreos.com/v1",
      kind: "ServiceMonitor",
      metadata: { ...metadata, labels: { ...metadata.labels, ...spec.labels } },
      spec: {
        selector: { matchLabels: labels(component) },
        endpoints: [{ port: "metrics", interval: "15s" }],
      },
    },
    pulumi.mergeOptions(opts, { dependsOn: [definition] }),
  );
}

/**
 * Environment variables that tell the exporter the name of a renamed resource, such as `nvidia.com/gpu.shared`. By
 * default the exporter knows only the names of whole cards and MIG devices, and metrics of other resources would name
 * no pod. Source: dcgm-exporter 4.5.3, internal/pkg/transformation/kubernetes.go (iterateGPUDevices); pkg/cmd/app.go
 * (NVIDIA_RESOURCE_NAMES).
 */
function resourceNames({ resourceName }: KubernetesRecipe): { name: string; value: string }[] {
  const knowsIt =
    resourceName === "nvidia.com/gpu" ||
    isDeviceClass(resourceName) ||
    resourceName.startsWith("nvidia.com/mig-");
  return knowsIt ? [] : [{ name: "NVIDIA_RESOURCE_NAMES", value: resourceName }];
}

/**
 * A Grafana dashboard of the cards, as a JSON model (grafana.com/docs, dashboard JSON model). Data source and node are
 * variables of the dashboard, so it works with any Prometheus that scrapes the exporter. The exporter has one value per
 * card, even if pods share the card (dcgm-exporter#587).
 */
function dashboard(
  name: string,
  recipe: KubernetesRecipe,
  { namespace = recipe.namespace }: MonitoringSpec,
  opts: pulumi.CustomResourceOptions,
): void {
  new k8s.core.v1.ConfigMap(
    `${name}-dashboard`,
    {
      // The label that the sidecar of Grafana's chart looks for by default.
      metadata: {
        name: "nvidia-gpu-dashboard",
        namespace,
        labels: { ...labels("dashboard"), grafana_dashboard: "1" },
      },
      data: { "nvidia-gpu.json": dashboardFor(exporterRelease(recipe)) },
    },
    opts,
  );
}
