import { Provider } from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import * as talos from "@pulumiverse/talos";
import type { GpuMachineArgs } from "./args";
import type { Configured } from "./configuration";
import { clientOf } from "./shared";

/** Limit of the bootstrap: the machine installs Talos, reboots and starts its services first, on servers with slow firmware too. */
const LIMIT = "30m";

/**
 * Bootstraps etcd on a control plane that has got its configuration, and fetches the cluster's kubeconfig from it. Done once:
 * the provider compares nothing afterwards, and asks for a new kubeconfig only when its certificate is about to end.
 *
 * @returns Kubeconfig of an administrator, secret. The Kubernetes API may still be starting then.
 */
export function bootstrapCluster(
  name: string,
  args: GpuMachineArgs,
  configured: Configured,
  opts: pulumi.CustomResourceOptions,
): pulumi.Output<string> {
  const client = clientOf(args.talosconfig ?? "");
  // The machine itself: whoever forwards to it is not up before.
  const target = { node: args.address, endpoint: args.address, clientConfiguration: client.configuration };
  const bootstrapped = new talos.machine.Bootstrap(
    `${name}-bootstrap`,
    { ...target, timeouts: { create: LIMIT } },
    pulumi.mergeOptions({ customTimeouts: { create: LIMIT }, dependsOn: configured.by }, opts),
  );
  const kubeconfig = new talos.cluster.Kubeconfig(
    `${name}-kubeconfig`,
    target,
    pulumi.mergeOptions({ dependsOn: bootstrapped }, opts),
  );
  return pulumi.secret(kubeconfig.kubeconfigRaw);
}

/**
 * The kubeconfig for whoever makes a provider from it. It comes once the machine is a node of its cluster: Pulumi's Kubernetes
 * provider asks for the API's schema once, as it is configured, and takes a cluster that does not answer then for unreachable
 * until the update ends (pulumi-kubernetes, provider/pkg/provider/provider.go, Configure: clusterUnreachable).
 *
 * @param joined What saw the machine's node in the cluster.
 */
export function onceJoined(kubeconfig: pulumi.Output<string>, joined: pulumi.Resource): pulumi.Output<string> {
  return pulumi.all([kubeconfig, joined.urn]).apply(([text]) => text);
}

/**
 * The Kubernetes provider for the machine's own node: one that comes through the options would have to be there before the
 * machine, whose kubeconfig it needs.
 */
export function ownProvider(
  name: string,
  kubeconfig: pulumi.Output<string>,
  opts: pulumi.CustomResourceOptions,
): Provider {
  return new Provider(`${name}-kubernetes`, { kubeconfig, clusterIdentifier: name }, opts);
}
