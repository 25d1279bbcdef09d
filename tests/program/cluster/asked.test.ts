import * as http from "node:http";
import type { AddressInfo } from "node:net";
import type { Kubeconfig } from "../../../components/clients/kubernetes/api";
import { KubernetesCluster } from "../../../components/program/cluster/cluster";

/** Answers by the path that is asked for; what is not there is not found. */
async function clusterOf(answers: Record<string, object | number>) {
  const asked: string[] = [];
  const server = http.createServer(({ url = "" }, response) => {
    asked.push(decodeURIComponent(url));
    const answer = answers[url.split("?")[0]!] ?? 404;
    response.writeHead(typeof answer === "number" ? answer : 200, {
      "content-type": "application/json",
    });
    response.end(
      JSON.stringify(typeof answer === "number" ? { kind: "Status", code: answer } : answer),
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
  return { cluster: new KubernetesCluster(kubeconfig, []), asked, close: () => server.close() };
}

const sets = "/apis/apps/v1/daemonsets";
const deployments = "/apis/apps/v1/deployments";
const policies = "/apis/nvidia.com/v1/clusterpolicies";
const plugin = {
  metadata: { namespace: "gpu", name: "nvdp", labels: { "helm.toolkit.fluxcd.io/name": "nvdp" } },
  spec: {
    template: {
      spec: { containers: [{ name: "main", image: "nvcr.io/nvidia/k8s-device-plugin:v0.17.4" }] },
    },
  },
};

test("what gives out the cards is read of DaemonSets and Deployments, whose lists name no kind of their items", async () => {
  const { cluster, close } = await clusterOf({
    [sets]: { items: [plugin] },
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
      keeper: { by: "Flux", name: "nvdp" },
    },
  ]);
  expect(withoutPlugin).toBe(false);
});

test.each([
  [[{ spec: { devicePlugin: { enabled: false } } }], true],
  [[{ spec: { devicePlugin: {} } }], false],
  [[], false],
])("the policies %j say whether the operator gives out cards", async (items, withoutPlugin) => {
  const { cluster, close } = await clusterOf({
    [sets]: { items: [] },
    [deployments]: { items: [] },
    [policies]: { items },
  });
  expect(await cluster.gpuOffers()).toEqual({ offers: [], withoutPlugin });
  close();
});

test("whether the operator gives out cards is not known where its policies may not be listed", async () => {
  const { cluster, close } = await clusterOf({ [sets]: 403, [deployments]: { items: [plugin] } });
  expect(await cluster.gpuOffers()).toEqual({ offers: undefined, withoutPlugin: false });
  close();
});

test("warnings of a Job are asked for by its name, the newest last; none where events are forbidden", async () => {
  const path = "/api/v1/namespaces/gpu/events";
  const event = (message: string, lastTimestamp: string) => ({
    message,
    lastTimestamp,
    metadata: {},
  });
  const items = [event("new", "2026-11-28T08:00:02Z"), event("old", "2026-11-28T08:00:01Z")];
  const { cluster, asked, close } = await clusterOf({ [path]: { items } });
  expect(await cluster.warningsOfJob("gpu", "test-1")).toEqual(["old", "new"]);
  close();
  expect(asked).toEqual([
    `${path}?fieldSelector=involvedObject.kind=Job,involvedObject.name=test-1,type=Warning`,
  ]);
  const forbidden = await clusterOf({ [path]: 403 });
  expect(await forbidden.cluster.warningsOfJob("gpu", "test-1")).toEqual([]);
  forbidden.close();
});
