import type * as pulumi from "@pulumi/pulumi";
import * as talos from "@pulumiverse/talos";
import type { Credentials } from "../credentials/credentials";
import { bundleOf, talosconfigOf } from "../credentials/texts";
import type { Plan } from "../recipe/types";

/**
 * What was given, or is made with the cluster: its secrets, unless they come from elsewhere. Losing them is losing the cluster, so
 * nothing that a stack may change changes them.
 */
export function clusterCredentials(
  name: string,
  { spec, machines }: Plan,
  given: Credentials,
  opts: pulumi.CustomResourceOptions,
): Credentials {
  if (!spec.bootstrap || given.machineSecrets !== undefined) return given;
  const endpoints = machines.filter(({ role }) => role === "controlplane").map(({ address }) => address);
  const { clusterName = name, talosVersion } = spec;
  const secrets = new talos.machine.Secrets(
    `${name}-secrets`,
    { talosVersion },
    // Kinds of secrets differ by release, but those of a cluster stay what they were when it was made.
    { ...opts, ignoreChanges: ["talosVersion"] },
  );
  return {
    ...given,
    machineSecrets: secrets.machineSecrets.apply(bundleOf),
    talosconfig: secrets.clientConfiguration.apply((client) => talosconfigOf(clusterName, client, endpoints)),
  };
}
