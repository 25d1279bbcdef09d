import * as k8s from "@pulumi/kubernetes";
import type * as pulumi from "@pulumi/pulumi";
import { labels } from "../kubernetes/pods";

/** The clients that may reach a server. */
export interface AllowedClients {
  /** Name of the server. It is also the label of the server's pods and the name of the policy. */
  name: string;
  namespace: pulumi.Input<string>;
  /** Other namespaces whose pods may reach the server; undefined if every pod may reach it. */
  allowFrom?: readonly string[] | undefined;
}

/**
 * A NetworkPolicy that lets a server answer only pods of its own namespace and of the namespaces in `allowFrom`.
 * Without `allowFrom` there is no policy, and every pod may reach the server. The pods of a server over several
 * machines may reach each other at every port, because NCCL uses arbitrary ports. The kubelet's probes always pass
 * (kubernetes.io, Network Policies, "Allow traffic from the node").
 *
 * @returns resources that the server's pods wait for, so that no pod ever runs without the policy.
 */
export function clientsOf(
  name: string,
  { name: server, namespace, allowFrom }: AllowedClients,
  opts: pulumi.CustomResourceOptions,
): pulumi.Resource[] {
  if (allowFrom === undefined) return [];
  const pods = { podSelector: { matchLabels: labels(server) } };
  // Every namespace has this label, and only the API server sets it (kubernetes.io, Well-Known Labels).
  const namespaces = allowFrom.map((namespaceName) => ({
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespaceName } },
  }));
  const policy = new k8s.networking.v1.NetworkPolicy(
    `${name}-clients`,
    {
      metadata: { name: server, namespace, labels: labels(server) },
      spec: {
        ...pods,
        policyTypes: ["Ingress"],
        ingress: [
          { from: [{ podSelector: {} }, ...namespaces], ports: [{ port: "http" }] },
          { from: [pods] },
        ],
      },
    },
    opts,
  );
  return [policy];
}
