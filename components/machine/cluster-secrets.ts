import type * as pulumi from "@pulumi/pulumi";
import * as talos from "@pulumiverse/talos";
import { bundleOf, talosconfigOf } from "../credentials/texts";

/** Secrets of a cluster, in the notation of the files that `talosctl` writes; all secret. */
export interface ClusterSecrets {
  /** As `talosctl gen secrets` writes them. */
  machineSecrets: pulumi.Output<string>;
  /** Client of the machines as an administrator. */
  talosconfig: pulumi.Output<string>;
}

/**
 * Makes the secrets of a new cluster. Losing them is losing the cluster, so nothing that a stack may change changes them.
 *
 * @param endpoints addresses of the control planes.
 */
export function clusterSecrets(
  name: string,
  { clusterName, talosVersion, endpoints }: { clusterName: string; talosVersion: string; endpoints: string[] },
  opts: pulumi.CustomResourceOptions,
): ClusterSecrets {
  const secrets = new talos.machine.Secrets(
    name,
    { talosVersion },
    // Kinds of secrets differ by release, but those of a cluster stay what they were when it was made.
    { ...opts, ignoreChanges: ["talosVersion"] },
  );
  return {
    machineSecrets: secrets.machineSecrets.apply(bundleOf),
    talosconfig: secrets.clientConfiguration.apply((client) => talosconfigOf(clusterName, client, endpoints)),
  };
}
