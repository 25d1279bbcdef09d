import * as fs from "node:fs";
import * as http from "node:http";
import * as net from "node:net";
import { pipeline } from "node:stream";
import { parse } from "yaml";
import { Cluster } from "../kubernetes/cluster";
import type { RealMachine } from "../talos";

/**
 * Objects with which Talos' control planes let workers join a cluster (talos v1.13.0,
 * internal/app/machined/pkg/controllers/k8s, templates), and the role that may call kubelets.
 */
export async function allowJoining(kubeconfig: string, secretsFile: string): Promise<void> {
  const { secrets } = parse(fs.readFileSync(secretsFile, "utf8")) as {
    secrets: { bootstraptoken: string };
  };
  const [id, secret] = secrets.bootstraptoken.split(".") as [string, string];
  const rbac = "rbac.authorization.k8s.io";
  const roleBinding = (name: string, role: string, kind: string, subject: string): object => ({
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: role },
    subjects: [{ apiGroup: rbac, kind, name: subject }],
  });
  const signingRequests = "system:certificates.k8s.io:certificatesigningrequests";
  const bootstrapGroup = "system:bootstrappers:nodes";
  const objects = [
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: `bootstrap-token-${id}`, namespace: "kube-system" },
      type: "bootstrap.kubernetes.io/token",
      stringData: {
        "token-id": id,
        "token-secret": secret,
        "usage-bootstrap-authentication": "true",
        "auth-extra-groups": bootstrapGroup,
      },
    },
    roleBinding(
      "system-bootstrap-node-bootstrapper",
      "system:node-bootstrapper",
      "Group",
      bootstrapGroup,
    ),
    roleBinding(
      "system-bootstrap-approve-node-client-csr",
      `${signingRequests}:nodeclient`,
      "Group",
      bootstrapGroup,
    ),
    roleBinding(
      "system-bootstrap-node-renewal",
      `${signingRequests}:selfnodeclient`,
      "Group",
      "system:nodes",
    ),
    {
      apiVersion: `${rbac}/v1`,
      kind: "ClusterRole",
      metadata: { name: "system:talos-nodes" },
      rules: [
        {
          apiGroups: ["discovery.k8s.io"],
          resources: ["endpointslices"],
          verbs: ["get", "list", "watch"],
        },
      ],
    },
    roleBinding("system:talos-nodes", "system:talos-nodes", "Group", "system:nodes"),
    roleBinding("kubelet-api", "system:kubelet-api-admin", "User", "kube-apiserver-kubelet-client"),
  ];
  const cluster = Cluster.of(kubeconfig);
  for (const object of objects) await cluster.apply(object, { fieldManager: "lab", force: true });
}

/**
 * Serves the socket through which the API server reaches addresses in the cluster's network, such as a machine's
 * kubelet.
 */
export async function proxyToKubelets(
  socket: string,
  machines: readonly RealMachine[],
): Promise<() => void> {
  const server = http.createServer().on("connect", (request, client: net.Socket) => {
    const machine = machines.find(({ address }) => request.url?.startsWith(`${address}:`));
    if (machine === undefined) return void client.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    const [host, port] = machine.kubelet.split(":");
    const kubelet = net.connect(Number(port), host, () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
    });
    pipeline(client, kubelet, client, () => {});
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return () => {
    server.close();
    server.closeAllConnections();
  };
}
