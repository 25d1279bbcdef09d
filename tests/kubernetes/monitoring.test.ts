import { alertRules } from "../../components/diagnosis/alerts";
import { gpuStack } from "../../components/kubernetes";
import { planCluster, type MonitoringSpec } from "../../components/recipe";
import { findResource, findResources, dependencyUrns } from "../support/graph";
import { selectorMatches, planOf, selectedMachines } from "../support/plans";
import { record, type Run } from "../support/recorder";

const recordStack = (stack: string, monitoring?: MonitoringSpec): Promise<Run> =>
  record(
    () =>
      void gpuStack(
        "lab",
        planOf(stack, monitoring === undefined ? {} : { monitoring }),
        { dependsOn: [] },
        {},
      ),
  );
const daemonSet = "kubernetes:apps/v1:DaemonSet";
const configMap = "kubernetes:core/v1:ConfigMap";
const monitor = "kubernetes:monitoring.coreos.com/v1:ServiceMonitor";

test("without the field monitoring, no exporter, dashboard or ServiceMonitor is created", async () => {
  const run = await recordStack("aarhus-h100");
  expect([daemonSet, configMap, monitor].flatMap((type) => findResources(run, type))).toEqual([]);
});

test("with the device plugin, the exporter runs on the GPU nodes under the runtime class and requests no card", async () => {
  const run = await recordStack("aarhus-h100", {
    serviceMonitor: true,
    labels: { release: "prometheus" },
  });
  expect(run.error).toBeUndefined();
  const set = findResource(run, daemonSet);
  const pod = set.inputs.spec.template.spec;
  expect(pod.runtimeClassName).toBe("nvidia");
  expect(selectedMachines(pod.nodeSelector, planOf("aarhus-h100", { monitoring: {} }))).toEqual([
    "aarhus-h100",
  ]);
  // A machine outside the stack keeps the label of an earlier operator.
  expect(selectorMatches(pod.nodeSelector, { "nvidia.com/gpu.present": "true" })).toBe(false);
  expect(pod.containers[0].resources.limits).not.toHaveProperty(["nvidia.com/gpu"]);
  // Only profiling metrics need this administrator's right.
  expect(pod.containers[0].securityContext).toEqual({
    runAsUser: 0,
    capabilities: { drop: ["ALL"], add: ["SYS_ADMIN"] },
    seccompProfile: { type: "RuntimeDefault" },
  });
  expect(dependencyUrns(run, set)).toContain(
    findResource(run, "kubernetes:helm.sh/v3:Release").urn,
  );
  const { selector, ports } = findResource(run, "kubernetes:core/v1:Service").inputs.spec;
  expect(set.inputs.spec.template.metadata.labels).toMatchObject(selector);
  expect(ports[0].targetPort).toBe(pod.containers[0].ports[0].name);
  const { metadata, spec } = findResource(run, monitor).inputs;
  expect(metadata.labels.release).toBe("prometheus");
  expect(findResource(run, "kubernetes:core/v1:Service").inputs.metadata.labels).toMatchObject(
    spec.selector.matchLabels,
  );
  expect(spec.endpoints[0].port).toBe(ports[0].name);
});

test.each([
  [
    "with renamed slices, the exporter gets the slices' resource name",
    ["nvidia.com/gpu.shared"],
    { renameByDefault: true },
  ],
  ["with slices under the cards' name, the exporter gets no resource name", [], {}],
])("%s: %j", async (_, names, slicingOptions) => {
  const plan = planOf("aarhus-h100", {
    monitoring: {},
    sharing: { timeSlicing: { replicas: 2, ...slicingOptions } },
  });
  const run = await record(() => void gpuStack("lab", plan, { dependsOn: [] }, {}));
  const { env } = findResource(run, daemonSet).inputs.spec.template.spec.containers[0];
  const resourceNames = (env as { name: string; value?: string }[]).filter(
    ({ name }) => name === "NVIDIA_RESOURCE_NAMES",
  );
  expect(resourceNames.map(({ value }) => value)).toEqual(names);
});

test.each(["aarhus-h100", "rtx5070ti"])(
  "with alerts, %s gets a PrometheusRule and an exporter with the stack's list of metrics",
  async (stack) => {
    const run = await recordStack(stack, {
      alerts: true,
      dashboard: false,
      labels: { release: "prometheus" },
    });
    const [rule] = findResources(run, "kubernetes:monitoring.coreos.com/v1:PrometheusRule");
    expect(rule!.inputs.metadata.labels.release).toBe("prometheus");
    expect(rule!.inputs.spec.groups[0].rules).toEqual(alertRules(planOf(stack)));
    expect(run.reads.map(({ id }) => id)).toEqual(["prometheusrules.monitoring.coreos.com"]);
    const { metadata, data } = findResource(run, configMap, "lab-dcgm-exporter-counters").inputs;
    const { values } = findResource(run, "kubernetes:helm.sh/v3:Release").inputs;
    const pod = findResources(run, daemonSet).find(({ name }) => name === "lab-dcgm-exporter")
      ?.inputs.spec.template.spec;
    expect(Object.keys(data)).toEqual(["dcgm-metrics.csv"]); // the operator mounts it in this way
    expect([values.dcgmExporter?.config?.name, pod?.volumes[1].configMap.name]).toContain(
      metadata.name,
    );
    if (pod === undefined) return;
    const { env, volumeMounts } = pod.containers[0];
    const { value } = env.find(
      (variable: { name: string }) => variable.name === "DCGM_EXPORTER_COLLECTORS",
    );
    expect(value).toBe(`${volumeMounts[1].mountPath}/dcgm-metrics.csv`);
  },
);

test.each(["aarhus-h100", "rtx5070ti"])(
  "%s: the CRD of ServiceMonitors is read first if serviceMonitor is set, and not otherwise",
  async (stack) => {
    expect((await recordStack(stack, { serviceMonitor: true })).reads).toEqual([
      {
        type: "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition",
        name: "lab-servicemonitor-needs-prometheus-operator",
        id: "servicemonitors.monitoring.coreos.com",
        dependencies: [],
      },
    ]);
    expect((await recordStack(stack, {})).reads).toEqual([]);
  },
);

test("by default monitoring has the dashboard and no ServiceMonitor", async () => {
  const run = await recordStack("aarhus-h100", {});
  expect(findResources(run, monitor)).toEqual([]);
  const { metadata, data } = findResource(run, configMap).inputs;
  expect(metadata).toMatchObject({ namespace: "kube-system", labels: { grafana_dashboard: "1" } });
  expect(JSON.parse(data["nvidia-gpu.json"])).toHaveProperty("panels");
  expect(findResources(await recordStack("aarhus-h100", { dashboard: false }), configMap)).toEqual(
    [],
  );
});

test("with the operator, chart values of every release configure the operator's exporter", async () => {
  const run = await recordStack("rtx5070ti", {
    serviceMonitor: true,
    labels: { release: "prometheus" },
    namespace: "grafana",
  });
  expect(findResources(run, monitor)).toEqual([]);
  expect(findResource(run, "kubernetes:helm.sh/v3:Release").inputs.values.dcgmExporter).toEqual({
    serviceMonitor: { enabled: true, additionalLabels: { release: "prometheus" } },
  });
  expect(findResource(run, configMap, "lab-dashboard").inputs.metadata.namespace).toBe("grafana");
  const { spec } = planOf("rtx5070ti");
  expect(
    planCluster({ ...spec, gpuOperator: { version: "v26.7.0" } }).kubernetes.release.values,
  ).toMatchObject({
    dcgmExporter: { serviceMonitor: { enabled: false } },
  });
});
