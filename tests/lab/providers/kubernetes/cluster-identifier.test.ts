import { KubernetesProvider } from "../../../../lab/providers/kubernetes";

/** A kubeconfig that leads to a server. */
const kubeconfig = (server: string): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "lab",
    contexts: [{ name: "lab", context: { cluster: "lab", user: "admin" } }],
    clusters: [{ name: "lab", cluster: { server, "certificate-authority-data": "Y2E=" } }],
    users: [{ name: "admin", user: { token: "t" } }],
  });

const provider = new KubernetesProvider({
  helm: "helm",
  charts: () => {
    throw new Error("no chart is asked for");
  },
});
const [one, other] = [kubeconfig("https://10.0.0.1:6443"), kubeconfig("https://10.0.0.2:6443")];

// pulumi-kubernetes, provider.go, DiffConfig, and its test `cluster-identifier`.
test.each([
  ["without an identifier another server is another cluster", {}, {}, ["kubeconfig"]],
  ["with one it is the same cluster", { clusterIdentifier: "home" }, { clusterIdentifier: "home" }, []],
  ["an identifier may be added", {}, { clusterIdentifier: "home" }, []],
  [
    "another identifier is another cluster",
    { clusterIdentifier: "home" },
    { clusterIdentifier: "away" },
    ["clusterIdentifier"],
  ],
])("%s", (_, was, is, replaces) =>
  expect(provider.diffConfig({ kubeconfig: one, ...was }, { kubeconfig: other, ...is })).toMatchObject({
    changes: true,
    replaces,
  }),
);
