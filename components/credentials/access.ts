import * as pulumi from "@pulumi/pulumi";
import { splitCredentials, type Credential, type Credentials } from "./credentials";
import { encryptionPatchesOf, machineSecretsOf, talosClientOf, type TalosClient } from "./texts";

/** Contents of credentials, each a secret. */
export type Secrets = { readonly [name in Credential]?: pulumi.Output<string> };

/**
 * The credentials of a cluster, and what is derived from them for its machines. Each is made once for all machines: a Pulumi output costs
 * several promises, more than the computation in it.
 */
export interface Access {
  secrets: Secrets;
  /** Client of the machine API. Its endpoints alone are not secret. */
  client: () => { configuration: pulumi.Output<TalosClient["configuration"]>; endpoints: pulumi.Output<string[]> };
  /** Secrets of the cluster, as the provider takes them. */
  clusterSecrets: () => pulumi.Output<ReturnType<typeof machineSecretsOf>>;
  /** Patches that give a control plane what a configuration generated from these secrets lacks. */
  encryptionPatches: () => pulumi.Output<string[]>;
}

/** Access by the given credentials. One that is not given is an empty text. */
export function accessOf(given: Credentials): Access {
  const texts = Object.entries(splitCredentials(given).given) as [Credential, pulumi.Input<string>][];
  const secrets: Secrets = Object.fromEntries(texts.map(([name, text]) => [name, pulumi.secret(text)]));
  const textOf = (name: Credential): pulumi.Output<string> => secrets[name] ?? pulumi.secret("");
  return {
    secrets,
    client: once(() => {
      const client = textOf("talosconfig").apply(talosClientOf);
      return { configuration: client.configuration, endpoints: pulumi.unsecret(client.endpoints) };
    }),
    clusterSecrets: once(() => textOf("machineSecrets").apply(machineSecretsOf)),
    encryptionPatches: once(() =>
      textOf("machineSecrets").apply((text) => encryptionPatchesOf(machineSecretsOf(text))),
    ),
  };
}

/** The same access with another kubeconfig. */
export const withKubeconfig = (access: Access, kubeconfig: pulumi.Output<string>): Access => ({
  ...access,
  secrets: { ...access.secrets, kubeconfig },
});

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
