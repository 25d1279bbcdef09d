import { alertRules } from "../../components/diagnosis/alerts";
import { gpuStack } from "../../components/kubernetes";
import { planCluster, type MonitoringSpec } from "../../components/recipe";
import { findResource, findResources, dependencyUrns } from "../support/graph";
import { selectorMatches, planOf, selectedMachines } from "../support/plans";
import { record, type Run } from "../support/recorder";

const run = (stack: string, monitoring?: MonitoringSpec): Promise<Run> =>
  record(
    () =>
      void gpuStack(
        "lab",
        planOf(stack, monitoring === undefined ? {} : { monitoring }),
        { ahead: [] },
        {},
      ),
  );
const daemonSet = "kubernetes:apps/v1:DaemonSet";
const configMap = "kubernetes:core/v1:ConfigMap";
const monitor = "kubernetes:monitoring.coreos.com/v1:ServiceMonitor";

test("without the field monitoring, no exporter, dashboard or ServiceMonitor is created", async () => {
  const ran = await run("aarhus-h100");
  expect([daemonSet, configMap, monitor].flatMap((type) => findResources(ran, type))).toEqual([]);
});

test("with the device plugin, the exporter runs on the GPU nodes under the runtime class and requests no card", async () => {
  const ran = await run("aarhus-h100", { serviceMonitor: true, labels: { release: "prometheus" } });
  expect(ran.error).toBeUndefined();
  const set = findResource(ran, daemonSet);
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
  expect(dependencyUrns(ran, set)).toContain(
    findResource(ran, "kubernetes:helm.sh/v3:Release").urn,
  );
  const { selector, ports } = findResource(ran, "kubernetes:core/v1:Service").inputs.spec;
  expect(set.inputs.spec.template.metadata.labels).toMatchObject(selector);
  expect(ports[0].targetPort).toBe(pod.containers[0].ports[0].name);
  const { metadata, spec } = findResource(ran, monitor).inputs;
  expect(metadata.labels.release).toBe("prometheus");
  expect(findResource(ran, "kubernetes:core/v1:Service").inputs.metadata.labels).toMatchObject(
    spec.selector.matchLabels,
  );
  expect(spec.endpoints[0].port).toBe(ports[0].name);
});

test.each([
  ["renamed slices", ["nvidia.com/gpu.shared"], { renameByDefault: true }],
  ["slices under the cards' name", [], {}],
])("for %s, the exporter's NVIDIA_RESOURCE_NAMES is set to %j", async (_, names, named) => {
  const plan = planOf("aarhus-h100", {
    monitoring: {},
    sharing: { timeSlicing: { replicas: 2, ...named } },
  });
  const ran = await record(() => void gpuStack("lab", plan, { ahead: [] }, {}));
  const { env } = findResource(ran, daemonSet).inputs.spec.template.spec.containers[0];
  const told = (env as { name: string; value?: string }[]).filter(
    ({ name }) => name === "NVIDIA_RESOURCE_NAMES",
  );
  expect(told.map(({ value }) => value)).toEqual(names);
});

test.each(["aarhus-h100", "rtx5070ti"])(
  "with alerts, %s gets a PrometheusRule and an exporter with the stack's list of metrics",
  async (stack) => {
    const ran = await run(stack, {
      alerts: true,
      dashboard: false,
      labels: { release: "prometheus" },
    });
    const [rule] = findResources(ran, "kubernetes:monitoring.coreos.com/v1:PrometheusRule");
    expect(rule!.inputs.metadata.labels.release).toBe("prometheus");
    expect(rule!.inputs.spec.groups[0].rules).toEqual(alertRules(planOf(stack)));
    expect(ran.reads.map(({ id }) => id)).toEqual(["prometheusrules.monitoring.coreos.com"]);
    const { metadata, data } = findResource(ran, configMap, "lab-dcgm-exporter-counters").inputs;
    const { values } = findResource(ran, "kubernetes:helm.sh/v3:Release").inputs;
    const pod = findResources(ran, daemonSet).find(({ name }) => name === "lab-dcgm-exporter")
      ?.inputs.spec.template.spec;
    expect(Object.keys(data)).toEqual(["dcgm-metrics.csv"]); // the operator mounts it in this way
    expect([values.dcgmExporter?.config?.name, pod?.volumes[1].configMap.name]).toContain(
      metadata.name,
    );
    if (pod === undefined) return;
    const { env, volumeMounts } = pod.containers[0];
    const { value } = env.find((one: { name: string }) => one.name === "DCGM_EXPORTER_COLLECTORS");
    expect(value).toBe(`${volumeMounts[1].mountPath}/dcgm-metrics.csv`);
  },
);

test.each(["aarhus-h100", "rtx5070ti"])(
  "%s: the CRD of ServiceMonitors is read first if serviceMonitor is set, and not otherwise",
  async (stack) => {
    expect((await run(stack, { serviceMonitor: true })).reads).toEqual([
      {
        type: "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition",
        name: "lab-servicemonitor-needs-prometheus-operator",
        id: "servicemonitors.monitoring.coreos.com",
        dependencies: [],
      },
    ]);
    expect((await run(stack, {})).reads).toEqual([]);
  },
);

test("by default monitoring has the dashboard and no ServiceMonitor", async () => {
  const ran = await run("aarhus-h100", {});
  expect(findResources(ran, monitor)).toEqual([]);
  const { metadata, data } = findResource(ran, configMap).inputs;
  expect(metadata).toMatchObject({ namespace: "kube-system", labels: { grafana_dashboard: "1" } });
  expect(JSON.parse(data["nvidia-gpu.json"])).toHaveProperty("panels");
  expect(findResources(await run("aarhus-h100", { dashboard: false }), configMap)).toEqual([]);
});

test("with the operator, chart values of every release configure the operator's exporter", async () => {
  const ran = await run("rtx5070ti", {
    serviceMonitor: true,
    labels: { release: "prometheus" },
    namespace: "grafana",
  });
  expect(findResources(ran, monitor)).toEqual([]);
  expect(findResource(ran, "kubernetes:helm.sh/v3:Release").inputs.values.dcgmExporter).toEqual({
    serviceMonitor: { enabled: true, additionalLabels: { release: "prometheus" } },
  });
  expect(findResource(ran, configMap, "lab-dashboard").inputs.metadata.namespace).toBe("grafana");
  const { spec } = planOf("rtx5070ti");
  expect(
    planCluster({ ...spec, gpuOperator: { version: "v26.7.0" } }).kubernetes.release.values,
  ).toMatchObject({
    dcgmExporter: { serviceMonitor: { enabled: false } },
  });
});
