import * as http from "node:http";
import type { AddressInfo } from "node:net";
import type { Kubeconfig } from "../../../components/clients/kubernetes/api";
import { KubernetesCluster } from "../../../components/program/cluster/cluster";

/**
 * A cluster that gives these answers, by path. Other paths are not found. A number is a status code. A text is sent
 * as it is, without JSON.
 */
async function createCluster(answers: Record<string, object | string | number>) {
  const requestedUrls: string[] = [];
  const server = http.createServer(({ url = "" }, response) => {
    requestedUrls.push(decodeURIComponent(url));
    const answer = answers[url.split("?")[0]!] ?? 404;
    response.writeHead(typeof answer === "number" ? answer : 200, {
      "content-type": "application/json",
    });
    response.end(
      typeof answer === "string"
        ? answer
        : JSON.stringify(typeof answer === "number" ? { kind: "Status", code: answer } : answer),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const kubeconfig: Kubeconfig = {
    applyToHTTPSOptions: async () => {},
    getCurrentContext: () => "home",
    getCurrentCluster: () => ({
      name: "home",
      skipTLSVerify: true,
      server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    }),
    getCurrentUser: () => null,
  };
  return {
    cluster: new KubernetesCluster(kubeconfig, []),
    requestedUrls,
    close: () => server.close(),
  };
}

const daemonSets = "/apis/apps/v1/daemonsets";
const deployments = "/apis/apps/v1/deployments";
const clusterPolicies = "/apis/nvidia.com/v1/clusterpolicies";
const plugin = {
  metadata: { namespace: "gpu", name: "nvdp", labels: { "helm.toolkit.fluxcd.io/name": "nvdp" } },
  spec: {
    template: {
      spec: { containers: [{ name: "main", image: "nvcr.io/nvidia/k8s-device-plugin:v0.17.4" }] },
    },
  },
};

test("a GPU provider is found in a list of DaemonSets, whose items have no kind", async () => {
  const { cluster, close } = await createCluster({
    [daemonSets]: { items: [plugin] },
    [deployments]: { items: null },
  });
  const { offers, withoutPlugin } = await cluster.gpuOffers();
  close();
  expect(offers).toEqual([
    {
      field: "devicePlugin",
      title: "DaemonSet gpu/nvdp",
      namespace: "gpu",
      byPulumi: false,
      managedBy: { by: "Flux", name: "nvdp" },
    },
  ]);
  expect(withoutPlugin).toBe(false);
});

test.each([
  [[{ spec: { devicePlugin: { enabled: false } } }], true],
  [[{ spec: { devicePlugin: {} } }], false],
  [[], false],
])(
  "with the ClusterPolicies %j, the operator runs without its plugin: %j",
  async (items, withoutPlugin) => {
    const { cluster, close } = await createCluster({
      [daemonSets]: { items: [] },
      [deployments]: { items: [] },
      [clusterPolicies]: { items },
    });
    expect(await cluster.gpuOffers()).toEqual({ offers: [], withoutPlugin });
    close();
  },
);

test("if the user may not list DaemonSets, the GPU providers are unknown", async () => {
  const { cluster, close } = await createCluster({
    [daemonSets]: 403,
    [deployments]: { items: [plugin] },
  });
  expect(await cluster.gpuOffers()).toEqual({ offers: undefined, withoutPlugin: false });
  close();
});

test("the warnings of a Job are read by its name, oldest first", async () => {
  const path = "/api/v1/namespaces/gpu/events";
  const event = (message: string, lastTimestamp: string) => ({
    message,
    lastTimestamp,
    metadata: {},
  });
  const items = [event("new", "2026-11-28T08:00:02Z"), event("old", "2026-11-28T08:00:01Z")];
  const { cluster, requestedUrls, close } = await createCluster({ [path]: { items } });
  expect(await cluster.warningsOfJob("gpu", "test-1")).toEqual(["old", "new"]);
  close();
  expect(requestedUrls).toEqual([
    `${path}?fieldSelector=involvedObject.kind=Job,involvedObject.name=test-1,type=Warning`,
  ]);
});

test("a Job has no warnings if the user may not read events", async () => {
  const { cluster, close } = await createCluster({ "/api/v1/namespaces/gpu/events": 403 });
  expect(await cluster.warningsOfJob("gpu", "test-1")).toEqual([]);
  close();
});

describe("for a new Kubernetes release", () => {
  const pods = "/api/v1/namespaces/kube-system/pods";
  const pod = (name: string, image: string) => ({ spec: { containers: [{ name, image }] } });

  test("the releases of API servers are the tags of their static pods", async () => {
    const images = [
      "registry.k8s.io/kube-apiserver:v1.34.1",
      "mirror.example:5000/kube-apiserver:v1.35.0-rc.1@sha256:0123",
      "registry.example/kube-apiserver:newest",
    ];
    const items = images.map((image) => pod("kube-apiserver", image));
    const sidecar = pod("proxy", "registry.example/proxy:v9.9.9");
    const { cluster, requestedUrls, close } = await createCluster({
      [pods]: { items: [...items, sidecar] },
    });
    expect(await cluster.apiServers()).toEqual(["v1.34.1", "v1.35.0-rc.1"]);
    close();
    expect(requestedUrls).toEqual([`${pods}?labelSelector=k8s-app=kube-apiserver`]);
    const forbidden = await createCluster({ [pods]: 403 });
    expect(await forbidden.cluster.apiServers()).toEqual([]);
    forbidden.close();
  });

  test("requested APIs with a planned removal are read from the metrics", async () => {
    const gauge = "apiserver_requested_deprecated_apis";
    const metrics = [
      `# TYPE ${gauge} gauge`,
      `${gauge}{group="flowcontrol.apiserver.k8s.io",removed_release="1.32",resource="flowschemas",subresource="status",version="v1beta3"} 1`,
      `${gauge}{group="",removed_release="",resource="componentstatuses",subresource="",version="v1"} 1`,
      `apiserver_request_total{code="200",removed_release="1.32"} 7`,
      "",
    ].join("\n");
    const { cluster, close } = await createCluster({ "/metrics": metrics });
    expect(await cluster.requestedApis()).toEqual([
      {
        resource: "flowschemas",
        groupVersion: "flowcontrol.apiserver.k8s.io/v1beta3",
        removed: 32,
      },
    ]);
    close();
    const forbidden = await createCluster({ "/metrics": 403 });
    expect(await forbidden.cluster.requestedApis()).toBeUndefined();
    forbidden.close();
    const broken = await createCluster({ "/metrics": 500 });
    await expect(broken.cluster.requestedApis()).rejects.toThrow("metrics of kube-apiserver");
    broken.close();
  });

  test("objects of a resource are listed by name, and none if the resource is not served", async () => {
    const path = "/apis/resource.k8s.io/v1alpha3/podschedulingcontexts";
    const items = [{ metadata: { namespace: "shop", name: "a" } }, { metadata: { name: "b" } }];
    const { cluster, close } = await createCluster({
      [path]: { items },
      "/none": { items: null },
      "/no": 403,
    });
    expect(await cluster.objectsAt(path)).toEqual(["shop/a", "b"]);
    expect(await cluster.objectsAt("/none")).toEqual([]);
    expect(await cluster.objectsAt("/apis/gone/v1/things")).toEqual([]);
    expect(await cluster.objectsAt("/no")).toBeUndefined();
    close();
  });
});

const admission = "/apis/admissionregistration.k8s.io/v1";
const slicesIn = (namespace: string): string =>
  `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
const webhook = (namespace: string, fields: object = {}): object => ({
  clientConfig: { service: { namespace, name: "webhook" } },
  ...fields,
});

test("admission webhooks that must answer are listed once for each service, with their endpoints", async () => {
  const { cluster, close, requestedUrls } = await createCluster({
    [`${admission}/mutatingwebhookconfigurations`]: { items: [{ webhooks: [webhook("a")] }] },
    [`${admission}/validatingwebhookconfigurations`]: {
      items: [
        { webhooks: [webhook("a", { failurePolicy: "Fail" }), webhook("b")] },
        { webhooks: [webhook("ignored", { failurePolicy: "Ignore" })] },
        { webhooks: [{ clientConfig: { url: "https://192.0.2.1" } }] },
        {},
      ],
    },
    [slicesIn("a")]: {
      items: [
        {
          endpoints: [
            { addresses: ["10.0.0.1"], nodeName: "gpu-1", targetRef: { kind: "Pod", uid: "7" } },
            { addresses: ["10.0.0.2"], conditions: { ready: false } },
          ],
        },
        { endpoints: null },
      ],
    },
    [slicesIn("b")]: { items: null },
  });
  expect(await cluster.webhookServices()).toEqual([
    {
      namespace: "a",
      name: "webhook",
      endpoints: [
        { ready: true, addresses: ["10.0.0.1"], node: "gpu-1", pod: "7" },
        { ready: false, addresses: ["10.0.0.2"], node: undefined, pod: undefined },
      ],
    },
    { namespace: "b", name: "webhook", endpoints: [] },
  ]);
  close();
  expect(requestedUrls).toContain(
    `${slicesIn("a")}?labelSelector=kubernetes.io/service-name=webhook`,
  );
});

test("without rights to webhooks or endpoints, no webhook is awaited", async () => {
  const { cluster, close } = await createCluster({
    [`${admission}/mutatingwebhookconfigurations`]: 403,
    [`${admission}/validatingwebhookconfigurations`]: { items: [{ webhooks: [webhook("a")] }] },
    [slicesIn("a")]: 403,
  });
  expect(await cluster.webhookServices()).toEqual([]);
  close();
});

test("the pods of a node are listed with what their kubelet last reported", async () => {
  const { cluster, close } = await createCluster({
    "/api/v1/pods": {
      items: [
        {
          metadata: { uid: "7" },
          status: {
            conditions: [{ type: "Ready", status: "True" }],
            containerStatuses: [{ containerID: "containerd://1" }],
            podIPs: [{ ip: "10.0.0.1" }],
          },
        },
        { metadata: { uid: "8" } },
      ],
    },
  });
  expect(await cluster.reportedPods("gpu-1")).toEqual({
    "7": { containers: ["containerd://1"], ready: true, addresses: ["10.0.0.1"] },
    "8": { containers: [], ready: false, addresses: [] },
  });
  close();
});

test.each<[{ kind: string; name: string; namespace?: string }, object | number, boolean]>([
  [{ kind: "Secret", name: "hf-token", namespace: "llm" }, { kind: "PartialObjectMetadata" }, true],
  [{ kind: "Secret", name: "hf-token", namespace: "llm" }, 404, false],
  [{ kind: "Namespace", name: "llm" }, { kind: "PartialObjectMetadata" }, true],
  [{ kind: "Namespace", name: "llm" }, 404, false],
])("whether an object exists: %j, for the answer %j", async (object, answer, exists) => {
  const path =
    object.namespace === undefined
      ? `/api/v1/namespaces/${object.name}`
      : `/api/v1/namespaces/${object.namespace}/secrets/${object.name}`;
  const { cluster, close } = await createCluster({ [path]: answer });
  expect(await cluster.exists(object)).toBe(exists);
  close();
});

test("whether a Secret exists is unknown without the right to read it", async () => {
  const { cluster, close } = await createCluster({
    "/api/v1/namespaces/llm/secrets/hf-token": 403,
  });
  await expect(
    cluster.exists({ kind: "Secret", name: "hf-token", namespace: "llm" }),
  ).rejects.toThrow(/Secret/);
  close();
});
