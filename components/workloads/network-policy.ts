import * as k8s from "@pulumi/kubernetes";
import type * as pulumi from "@pulumi/pulumi";
import { labels } from "../kubernetes/pods";

/** Whom a server answers. */
export interface AllowedClients {
  /** Name of the server: of its pods' label, and of the policy. */
  name: string;
  namespace: pulumi.Input<string>;
  /** Other namespaces whose pods may reach it. Undefined: every pod may. */
  allowFrom?: readonly string[] | undefined;
}

/**
 * A NetworkPolicy by which a server answers only the pods of its own namespace and of those that are named; none where every pod may
 * reach it. The pods of a server over several machines reach each other at every port: NCCL takes any. The kubelet's probes always pass
 * (kubernetes.io, Network Policies, "Allow traffic from the node").
 *
 * @returns what the server's pods wait for, so that none of them is ever open.
 */
export function clientsOf(
  name: string,
  { name: server, namespace, allowFrom }: AllowedClients,
  opts: pulumi.CustomResourceOptions,
): pulumi.Resource[] {
  if (allowFrom === undefined) return [];
  const pods = { podSelector: { matchLabels: labels(server) } };
  // Every namespace has this label, and only the API server sets it (kubernetes.io, Well-Known Labels).
  const namespaces = allowFrom.map((one) => ({
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": one } },
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
