import * as pulumi from "@pulumi/pulumi";
import * as talos from "@pulumiverse/talos";
import type { Access } from "../credentials/access";
import type { Credentials } from "../credentials/credentials";
import { bundleOf, talosconfigOf } from "../credentials/texts";
import type { Plan } from "../recipe/types";
import type { PlannedMachine } from "../recipe/machine/planned-machine";
import type { Configured } from "./configuration";

/**
 * Limit of the bootstrap. It includes the time in which the machine installs Talos, reboots, perhaps with slow
 * firmware, and starts its services.
 */
const LIMIT = "30m";

/**
 * Bootstraps etcd on a configured control plane, and fetches the cluster's kubeconfig from it. A stack bootstraps etcd
 * only once, even if another control plane later comes first in the list. A machine with etcd data refuses every
 * bootstrap, and a machine without etcd data would start a second etcd (talos v1.13.9,
 * internal/app/machined/internal/server/v1alpha1, Bootstrap). A changed `clusterEndpoint` makes Pulumi fetch the
 * kubeconfig again; by itself, the provider fetches it again only when its certificate is about to expire
 * (terraform-provider-talos v0.11.0, pkg/talos/talos_cluster_kubeconfig_resource.go, ModifyPlan).
 *
 * @param cluster Name of the cluster's component. The resources are named after it, and not after the machine.
 * @returns Kubeconfig of an administrator, secret. When it resolves, the Kubernetes API may still be starting.
 */
export function bootstrapCluster(
  cluster: string,
  { address, clusterEndpoint }: PlannedMachine,
  access: Access,
  configured: Configured,
  opts: pulumi.CustomResourceOptions,
): pulumi.Output<string> {
  // The machine itself as endpoint: no other machine can forward requests yet.
  const target = {
    node: address,
    endpoint: address,
    clientConfiguration: access.client().configuration,
  };
  const once = {
    customTimeouts: { create: LIMIT },
    dependsOn: configured.resource,
    ignoreChanges: ["node", "endpoint", "clientConfiguration"],
  };
  const bootstrapped = new talos.machine.Bootstrap(
    `${cluster}-bootstrap`,
    { ...target, timeouts: { create: LIMIT } },
    pulumi.mergeOptions(once, opts),
  );
  const refetched = {
    dependsOn: bootstrapped,
    ...(clusterEndpoint === undefined ? {} : { replacementTrigger: clusterEndpoint }),
  };
  const kubeconfig = new talos.cluster.Kubeconfig(`${cluster}-kubeconfig`, target, {
    ...pulumi.mergeOptions(refetched, opts),
    // In addition to the SDK's secret outputs. The stack does not read this output.
    additionalSecretOutputs: ["kubernetesClientConfiguration"],
  });
  return pulumi.secret(kubeconfig.kubeconfigRaw);
}

/**
 * The credentials of a cluster: those of the arguments, or new ones. The new secrets stay the same at every later
 * change of the stack, because a cluster without its secrets is lost.
 */
export function clusterCredentials(
  name: string,
  { spec, machines }: Plan,
  credentials: Credentials,
  opts: pulumi.CustomResourceOptions,
): Credentials {
  if (!spec.bootstrap || credentials.machineSecrets !== undefined) return credentials;
  const endpoints = machines
    .filter(({ role }) => role === "controlplane")
    .map(({ address }) => address);
  const { clusterName = name, talosVersion } = spec;
  const secrets = new talos.machine.Secrets(
    `${name}-secrets`,
    { talosVersion },
    // No `additionalSecretOutputs`: the provider marks fields within these outputs (terraform-provider-talos v0.11.0,
    // `Sensitive`). If a secret contains a secret, Pulumi's SDK passes on only the wrapper (@pulumi/pulumi 3.248.0,
    // runtime/rpc.ts, deserializeProperty). The kinds of secrets depend on the Talos release, but a cluster keeps the
    // secrets of its creation.
    { ...opts, ignoreChanges: ["talosVersion"] },
  );
  return {
    ...credentials,
    machineSecrets: secrets.machineSecrets.apply(bundleOf),
    talosconfig: secrets.clientConfiguration.apply((client) =>
      talosconfigOf(clusterName, client, endpoints),
    ),
  };
}
