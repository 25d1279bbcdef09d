import * as path from "node:path";
import { Cluster } from "../../lab/kubernetes/cluster";
import { waitUntilNothingIsLeft, runLab, startLab } from "./support/labs";

const stackArgs = ["--stack", path.join(__dirname, "stacks/Pulumi.metrics.yaml")];
const manifestArgs = (name: string): string[] => [
  "--manifest",
  path.join(__dirname, `manifests/${name}.yaml`),
];
const allManifestArgs = [
  ...manifestArgs("prometheus-operator-crds"),
  ...manifestArgs("runtime-class"),
];
const namespace = "nvidia-device-plugin";

test.concurrent(
  "with the Prometheus Operator's CRDs and an external RuntimeClass, the stack creates a working ServiceMonitor, alerts and the dashboard",
  async () => {
    const lab = startLab([...stackArgs, ...allManifestArgs, "--keep"]);
    const folder = await lab.folder();
    await lab.line(/The cluster runs until Ctrl-C/);
    expect(lab.lines.join("\n")).toMatch(
      /RuntimeClass nvidia .* belongs to another tool, and stays unchanged/,
    );
    const kubeconfig = /KUBECONFIG=(.*)/.exec(lab.lines.join("\n"))![1]!;
    const cluster = Cluster.of(kubeconfig);
    const readFromApi = (path: string): Promise<any> => cluster.readPath(path);

    const { items } = await readFromApi(
      `/apis/monitoring.coreos.com/v1/namespaces/${namespace}/servicemonitors`,
    );
    expect(items).toHaveLength(1);
    const [{ metadata, spec }] = items;
    expect(metadata.labels.release).toBe("kube-prometheus-stack");

    // Prometheus finds its targets in this way: Services by the selector, then the endpoints of the port by its
    // name.
    const selector = Object.entries<string>(spec.selector.matchLabels).map(
      ([key, value]) => `${key}=${value}`,
    );
    const query = `labelSelector=${encodeURIComponent(selector.join(","))}`;
    const services = (await readFromApi(`/api/v1/namespaces/${namespace}/services?${query}`)).items;
    expect(services.map((service: any) => service.metadata.name)).toEqual(["nvidia-dcgm-exporter"]);
    const slices = await readFromApi(
      `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?labelSelector=kubernetes.io/service-name%3Dnvidia-dcgm-exporter`,
    );
    const [slice] = slices.items;
    expect(slice.ports).toContainEqual(
      expect.objectContaining({ name: spec.endpoints[0].port, port: 9400 }),
    );
    expect(slice.endpoints).toEqual([expect.objectContaining({ nodeName: "gpu-1" })]);
    expect(slice.endpoints[0].conditions.ready).toBe(true);

    const rules = (
      await readFromApi(`/apis/monitoring.coreos.com/v1/namespaces/${namespace}/prometheusrules`)
    ).items;
    expect(rules.map(({ spec: { groups } }: any) => groups[0].rules.at(-1).labels.node)).toEqual([
      "gpu-1",
    ]);

    const dashboards = await readFromApi(`/api/v1/configmaps?labelSelector=grafana_dashboard`);
    expect(JSON.parse(dashboards.items[0].data["nvidia-gpu.json"]).panels.length).toBeGreaterThan(
      0,
    );
    lab.child.kill("SIGINT");
    await lab.ended;
    await waitUntilNothingIsLeft(folder);
  },
);

test.concurrent(
  "without the Prometheus Operator's CRDs the stack is refused at once, and the error names the missing kinds",
  async () => {
    const { status, report } = await runLab(stackArgs);
    expect(status).toBe(1);
    const symptoms = report.failures.map(({ symptom }) => symptom).join("\n");
    expect(symptoms).toContain("servicemonitor-needs-prometheus-operator");
    expect(symptoms).toContain("servicemonitors.monitoring.coreos.com' does not exist");
    expect(report.machines["gpu-1"]).toMatchObject({ reboots: 0, driverVersion: null });
  },
);
