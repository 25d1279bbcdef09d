import { Provider } from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import * as talos from "@pulumiverse/talos";
import type { GpuMachineArgs } from "./args";
import type { Configured } from "./configuration";
import { clientOf } from "./shared";

/** Limit of the bootstrap: the machine installs Talos, reboots and starts its services first, on servers with slow firmware too. */
const LIMIT = "30m";

/** A cluster that was bootstrapped. */
export interface BootstrappedCluster {
  /** Of an administrator. Secret. */
  kubeconfig: pulumi.Output<string>;
  provider: Provider;
}

/**
 * Bootstraps etcd on a control plane that has got its configuration, and fetches the cluster's kubeconfig from it. Done once:
 * the provider compares nothing afterwards, and asks for a new kubeconfig only when its certificate is about to end.
 *
 * The Kubernetes API may still be starting then. The provider is for the machine's own node: one that comes through the
 * options would have to be there before the machine, whose kubeconfig it needs.
 */
export function bootstrapCluster(
  name: string,
  args: GpuMachineArgs,
  configured: Configured,
  opts: pulumi.CustomResourceOptions,
): BootstrappedCluster {
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
  const raw = pulumi.secret(kubeconfig.kubeconfigRaw);
  return {
    kubeconfig: raw,
    provider: new Provider(`${name}-kubernetes`, { kubeconfig: raw, clusterIdentifier: name }, opts),
  };
}
