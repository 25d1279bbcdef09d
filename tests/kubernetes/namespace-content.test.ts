import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { KubernetesApi } from "../../components/clients/kubernetes/api";
import { clusterObjectsOf } from "../../components/kubernetes/guard/cluster-objects";

interface Kind {
  kind: string;
  name: string;
  namespaced: boolean;
  verbs: string[];
}

const allVerbs = ["create", "delete", "get", "list"];
const createKind = (kind: string, name: string, verbs = allVerbs): Kind => ({
  kind,
  name,
  namespaced: true,
  verbs,
});

/**
 * An API server's answers for these kinds, and for these objects in the namespace `gpu`. Other answers are given
 * by path.
 */
function answersOf(
  kinds: Record<string, Kind[]>,
  objects: Record<string, string[]>,
  statusByPath: Record<string, number>,
): (path: string) => [number, object] {
  return (path) => {
    if (path in statusByPath)
      return [statusByPath[path]!, { message: `answered with ${statusByPath[path]}` }];
    if (path === "/api/v1/namespaces/gpu") return [200, { metadata: { name: "gpu", uid: "1" } }];
    if (path === "/apis") {
      const groupPaths = Object.keys(kinds).filter((root) => root !== "/api/v1");
      return [
        200,
        {
          groups: groupPaths.map((root) => ({
            versions: [{ groupVersion: root.replace("/apis/", "") }],
          })),
        },
      ];
    }
    if (path in kinds) return [200, { resources: kinds[path] }];
    const names = objects[path.replace("/namespaces/gpu/", "/")] ?? [];
    return [200, { items: names.map((name) => ({ metadata: { name } })) }];
  };
}

/** The objects that the guard finds in the namespace. */
async function contentOfNamespace(answer: (path: string) => [number, object]): Promise<string[]> {
  const server = http.createServer((request, response) => {
    const [status, body] = answer(request.url!);
    response.writeHead(status).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const api = new KubernetesApi({
    getCurrentCluster: () => ({ name: "home", server: url, skipTLSVerify: false }),
    getCurrentContext: () => "home",
    getCurrentUser: () => ({ name: "me" }),
    applyToHTTPSOptions: () => Promise.resolve(),
  });
  try {
    return (await clusterObjectsOf(api).read({ apiVersion: "v1", kind: "Namespace", name: "gpu" }))!
      .holds;
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const kinds: Record<string, Kind[]> = {
  "/api/v1": [
    { kind: "Namespace", name: "namespaces", namespaced: false, verbs: allVerbs },
    createKind("ConfigMap", "configmaps"),
    createKind("Event", "events"),
    createKind("Pod", "pods"),
    createKind("Pod", "pods/status"),
    createKind("ServiceAccount", "serviceaccounts"),
  ],
  "/apis/batch/v1": [createKind("CronJob", "cronjobs")],
  "/apis/networking.k8s.io/v1": [createKind("Ingress", "ingresses")],
  "/apis/rbac.authorization.k8s.io/v1": [
    createKind("Role", "roles"),
    { ...createKind("ClusterRole", "clusterroles"), namespaced: false },
  ],
  "/apis/example.com/v1": [createKind("Event", "events"), createKind("Database", "databases")],
  // No client creates or deletes these objects: they are another form of the pods.
  "/apis/metrics.k8s.io/v1beta1": [createKind("PodMetrics", "pods", ["get", "list"])],
};
const objectsOfKubernetes = {
  "/api/v1/configmaps": ["kube-root-ca.crt"],
  "/api/v1/serviceaccounts": ["default"],
  "/api/v1/events": ["gpu.17a"],
  "/apis/metrics.k8s.io/v1beta1/pods": ["old"],
};

test("a namespace is empty if it has only the objects that Kubernetes creates in every namespace", async () => {
  expect(await contentOfNamespace(answersOf(kinds, objectsOfKubernetes, {}))).toEqual([]);
});

test.each([
  ["CronJob backup", "/apis/batch/v1/cronjobs", "backup"],
  ["Ingress web", "/apis/networking.k8s.io/v1/ingresses", "web"],
  ["Role reader", "/apis/rbac.authorization.k8s.io/v1/roles", "reader"],
  ["Database orders", "/apis/example.com/v1/databases", "orders"],
  ["Event of-another-group", "/apis/example.com/v1/events", "of-another-group"],
  ["ServiceAccount robot", "/api/v1/serviceaccounts", "robot"],
])("a namespace that holds only %s is not empty", async (title, path, name) => {
  expect(
    await contentOfNamespace(answersOf(kinds, { ...objectsOfKubernetes, [path]: [name] }, {})),
  ).toEqual([title]);
});

test.each([
  [
    "is forbidden (403)",
    "/apis/batch/v1/namespaces/gpu/cronjobs",
    403,
    "possibly a CronJob (not listed: ",
  ],
  [
    "is not found (404)",
    "/apis/batch/v1/namespaces/gpu/cronjobs",
    404,
    "possibly a CronJob (not listed: ",
  ],
  [
    "is unknown because its API server is down (503)",
    "/apis/example.com/v1",
    503,
    "possibly objects of apis/example.com/v1 (kinds not listed: ",
  ],
])(
  "a namespace does not count as empty if a list of objects %s",
  async (_, path, status, expectedText) => {
    const [firstObject, ...otherObjects] = await contentOfNamespace(
      answersOf(kinds, objectsOfKubernetes, { [path]: status }),
    );
    expect(firstObject).toContain(expectedText);
    expect(otherObjects).toEqual([]);
  },
);

test("a namespace does not count as empty if the API server cannot list one of its kinds", async () => {
  const hidden = {
    ...kinds,
    "/apis/example.com/v1": [createKind("Key", "keys", ["create", "delete"])],
  };
  expect(await contentOfNamespace(answersOf(hidden, objectsOfKubernetes, {}))).toEqual([
    "possibly a Key (the API server cannot list this kind)",
  ]);
});
