import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { labels } from "../kubernetes/pods";
import { outlasting } from "../kubernetes/timeouts";
import { type AllowedClients, clientsOf } from "./network-policy";

/**
 * A server with one replica. An update ends the old pod before it starts the new one, because both need the same GPUs.
 */
export interface ServerArgs extends AllowedClients {
  /** Name of the Deployment and the Service. */
  name: string;
  port: number;
  /** Whether the Deployment has one replica (true) or none. */
  active: boolean;
  /** Seconds within which the server must be ready. */
  readyWithin: number;
  /** Text in an annotation of the pod; a change restarts the pod. Default: none. */
  exposure?: string | undefined;
  pod: pulumi.Input<k8s.types.input.core.v1.PodSpec>;
}

/** Outputs of a server. */
export interface Server {
  /** Resource that creates the server's pods; undefined if no pod should run. */
  runs: pulumi.CustomResource | undefined;
  namespace: pulumi.Input<string>;
  /** URL within the cluster; resolves once the server is ready. */
  endpoint: pulumi.Output<string>;
}

/**
 * Number of failures that the startup probe of a server allows. At its first start the server may download its data. So
 * the probes go on for an hour, or for the server's time limit if this is longer. With fewer allowed failures, the
 * kubelet would restart the server and its download. The Deployment's deadline reports a server that is late.
 *
 * @param period Seconds between two probes.
 */
export const patienceOf = (readyWithin: number, period: number): number =>
  Math.ceil(Math.max(readyWithin, 3600) / period);

/** A Deployment and its Service. */
export function server(name: string, args: ServerArgs, opts: pulumi.CustomResourceOptions): Server {
  const metadata = { name: args.name, namespace: args.namespace, labels: labels(args.name) };
  const dependsOn = clientsOf(name, args, opts);
  const deployment = new k8s.apps.v1.Deployment(
    `${name}-deployment`,
    {
      // Pulumi also waits for the claims of a Deployment, even if no pod of it should run. A claim of a class with
      // WaitForFirstConsumer is bound only with the first pod (pulumi-kubernetes, provider/pkg/await/deployment.go,
      // isEveryPVCReady).
      metadata: args.active ? metadata : { ...metadata, annotations: notWaitedFor },
      spec: {
        replicas: args.active ? 1 : 0,
        // The old pod must end first: it uses the GPUs and the volume that the new one needs.
        strategy: { type: "Recreate" },
        progressDeadlineSeconds: args.readyWithin,
        selector: { matchLabels: labels(args.name) },
        template: { metadata: podMetadata(args), spec: args.pod },
      },
    },
    pulumi.mergeOptions(opts, { customTimeouts: outlasting(args.readyWithin), dependsOn }),
  );
  const endpoint = serviceOf(name, args, labels(args.name), deployment, opts);
  return { runs: deployment, namespace: args.namespace, endpoint };
}

const notWaitedFor = { "pulumi.com/skipAwait": "true" };

/** Metadata of each pod of a server. */
export const podMetadata = ({ name, exposure }: Pick<ServerArgs, "name" | "exposure">) => ({
  labels: labels(name),
  ...(exposure === undefined ? {} : { annotations: { "talos-gpu/exposure": exposure } }),
});

/**
 * Creates the Service of a server.
 *
 * @returns the server's URL, which resolves once the server is ready.
 */
export function serviceOf(
  name: string,
  args: Pick<ServerArgs, "name" | "namespace" | "port">,
  selector: Record<string, string>,
  runs: pulumi.CustomResource | undefined,
  opts: pulumi.CustomResourceOptions,
): pulumi.Output<string> {
  const { metadata } = new k8s.core.v1.Service(
    `${name}-service`,
    {
      // Pulumi waits for the server's pods instead; without pods, the wait for the Service would never end.
      metadata: {
        name: args.name,
        namespace: args.namespace,
        labels: labels(args.name),
        annotations: notWaitedFor,
      },
      spec: { selector, ports: [{ name: "http", port: args.port, targetPort: "http" }] },
    },
    opts,
  );
  return pulumi
    .all([metadata, runs?.id])
    .apply(([{ name: host, namespace }]) => `http://${host}.${namespace}.svc:${args.port}`);
}
