import * as pulumi from "@pulumi/pulumi";
import * as talos from "@pulumiverse/talos";
import type { Access } from "../credentials/access";
import type { Credentials } from "../credentials/credentials";
import { bundleOf, talosconfigOf } from "../credentials/texts";
import type { Plan } from "../recipe/types";
import type { PlannedMachine } from "../recipe/machine/planned-machine";
import type { Configured } from "./configuration";

/**
 * Limit of the bootstrap: the machine installs Talos, reboots and starts its services first, on servers with slow
 * firmware too.
 */
const LIMIT = "30m";

/**
 * Bootstraps etcd on a control plane that has got its configuration, and fetches the cluster's kubeconfig from it.
 * Etcd is bootstrapped once in the life of a stack, whichever control plane comes first later: a machine with data of
 * etcd refuses it forever, and one without would begin a second etcd (talos v1.13.9,
 * internal/app/machined/internal/server/v1alpha1, Bootstrap). The kubeconfig is fetched again for another
 * `clusterEndpoint`; the provider itself does that only before its certificate ends (terraform-provider-talos
 * v0.11.0, pkg/talos/talos_cluster_kubeconfig_resource.go, ModifyPlan).
 *
 * @param cluster Name of the cluster's component, which what does it is named after, whichever machine it is done on.
 * @returns Kubeconfig of an administrator, secret. The Kubernetes API may still be starting then.
 */
export function bootstrapCluster(
  cluster: string,
  { address, clusterEndpoint }: PlannedMachine,
  access: Access,
  configured: Configured,
  opts: pulumi.CustomResourceOptions,
): pulumi.Output<string> {
  // The machine itself: what forwards to it is not up before.
  const target = {
    node: address,
    endpoint: address,
    clientConfiguration: access.client().configuration,
  };
  const once = {
    customTimeouts: { create: LIMIT },
    dependsOn: configured.by,
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
    // Next to those that the SDK names. The stack does not read it.
    additionalSecretOutputs: ["kubernetesClientConfiguration"],
  });
  return pulumi.secret(kubeconfig.kubeconfigRaw);
}

/**
 * Credentials that were given, or that are made with the cluster: its secrets, unless they come from elsewhere.
 * Without them the cluster is lost, so no change of a stack changes them.
 */
export function clusterCredentials(
  name: string,
  { spec, machines }: Plan,
  given: Credentials,
  opts: pulumi.CustomResourceOptions,
): Credentials {
  if (!spec.bootstrap || given.machineSecrets !== undefined) return given;
  const endpoints = machines
    .filter(({ role }) => role === "controlplane")
    .map(({ address }) => address);
  const { clusterName = name, talosVersion } = spec;
  const secrets = new talos.machine.Secrets(
    `${name}-secrets`,
    { talosVersion },
    // Not `additionalSecretOutputs`: the provider marks fields within these outputs (terraform-provider-talos
    // v0.11.0, `Sensitive`), and Pulumi's SDK hands a program the wrapper of a secret within a secret (@pulumi/pulumi
    // 3.248.0, runtime/rpc.ts, deserializeProperty). Kinds of secrets differ by release, but those of a cluster stay
    // what they were when it was made.
    { ...opts, ignoreChanges: ["talosVersion"] },
  );
  return {
    ...given,
    machineSecrets: secrets.machineSecrets.apply(bundleOf),
    talosconfig: secrets.clientConfiguration.apply((client) =>
      talosconfigOf(clusterName, client, endpoints),
    ),
  };
}
