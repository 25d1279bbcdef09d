import { KubernetesCluster } from "../../../components/program/cluster/cluster";
import { putBack } from "../../../components/program/cluster/put-back";
import { errorMessageOf } from "../setup";

test("if an object's CRD is gone, the failure names the object, and other objects are restored", async () => {
  const cluster = new KubernetesCluster(
    {
      getCurrentCluster: () => ({ name: "home", server: "https://api.home", skipTLSVerify: false }),
      getCurrentContext: () => "home",
      getCurrentUser: () => ({ name: "me" }),
      applyToHTTPSOptions: () => Promise.resolve(),
    },
    [],
  );
  const writtenPaths: string[] = [];
  cluster["api"]["send"] = (url, { method = "GET" }) => {
    const path = url.replace("https://api.home", "");
    if (method === "PATCH") writtenPaths.push(path);
    const resources = [{ kind: "ConfigMap", name: "configmaps", namespaced: true }];
    const answer =
      path === "/api/v1" ? { resources } : method === "PATCH" ? { metadata: {} } : undefined;
    const status = answer === undefined ? 404 : 200;
    return Promise.resolve({
      status,
      headers: {},
      body: JSON.stringify(answer ?? { message: "not found" }),
    });
  };
  const objects = [
    {
      apiVersion: "monitoring.coreos.com/v1",
      kind: "ServiceMonitor",
      metadata: { name: "dcgm", namespace: "gpu" },
    },
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "markers", namespace: "gpu" } },
  ];
  expect(await errorMessageOf(putBack({ manager: "talos-gpu", objects }, cluster, () => {}))).toBe(
    "ServiceMonitor gpu/dcgm: the cluster no longer has the kind ServiceMonitor (monitoring.coreos.com/v1); Kubernetes deleted the object together " +
      "with its CRD, and cannot restore it without that CRD; install the chart or manifest with that CRD again, or remove the field " +
      "of the stack that creates this object. Then run again",
  );
  expect(writtenPaths).toEqual([
    "/api/v1/namespaces/gpu/configmaps/markers?fieldManager=talos-gpu&force=true",
  ]);
});
