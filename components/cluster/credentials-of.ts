import type * as pulumi from "@pulumi/pulumi";
import type { Credentials } from "../credentials/credentials";
import { clusterSecrets } from "../machine";
import type { Plan } from "../recipe/types";

/** What was given, or is made with the cluster: its secrets, unless they come from elsewhere. */
export function credentialsOf(
  name: string,
  { spec, machines }: Plan,
  given: Credentials,
  opts: pulumi.CustomResourceOptions,
): Credentials {
  if (!spec.bootstrap || given.machineSecrets !== undefined) return given;
  const endpoints = machines.filter(({ role }) => role === "controlplane").map(({ address }) => address);
  const { clusterName = name, talosVersion } = spec;
  return clusterSecrets(`${name}-secrets`, { clusterName, talosVersion, endpoints }, opts);
}
