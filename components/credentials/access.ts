import * as pulumi from "@pulumi/pulumi";
import { refusal } from "../pulumi/checked-arguments";
import { renderFinding } from "../recipe";
import { fittingCredential } from "./fitting-credential";
import {
  expiredCredentials,
  splitCredentials,
  type Credential,
  type Credentials,
} from "./credentials";
import { encryptionPatchesOf, machineSecretsOf, talosClientOf } from "./texts";

/** Contents of credentials, each a secret. */
export type Secrets = { readonly [name in Credential]?: pulumi.Output<string> };

/** Access to a cluster. */
export type Access = ReturnType<typeof accessOf>;

/**
 * A cluster's credentials, and the values that its machines derive from them. Each value is created once for all
 * machines, because a Pulumi output costs more than the computation in it. A missing credential is an empty text.
 */
export function accessOf(credentials: Credentials) {
  const texts = Object.entries(splitCredentials(credentials).credentials) as [
    Credential,
    pulumi.Input<string>,
  ][];
  const secrets: Secrets = Object.fromEntries(
    texts.map(([name, text]) => [
      name,
      fittingText(
        name,
        pulumi.output(text).apply((value) => unlessExpired(name, value)),
      ),
    ]),
  );
  const textOf = (name: Credential): pulumi.Output<string> => secrets[name] ?? pulumi.secret("");
  return {
    secrets,
    /** Client of the machine API. Everything except the endpoints is secret. */
    client: once(() => {
      const client = textOf("talosconfig").apply(talosClientOf);
      return { configuration: client.configuration, endpoints: pulumi.unsecret(client.endpoints) };
    }),
    /** Secrets of the cluster, in the Talos provider's form. */
    clusterSecrets: once(() => textOf("machineSecrets").apply(machineSecretsOf)),
    /**
     * Configurations generated from these secrets and further arguments. Machines with the same arguments share one
     * configuration.
     */
    generated: onceEach<pulumi.Output<string>>(),
    /**
     * Patches that give a control plane the AES-CBC key of an older cluster. A generated configuration lacks this key.
     */
    encryptionPatches: once(() =>
      textOf("machineSecrets").apply((text) => encryptionPatchesOf(machineSecretsOf(text))),
    ),
  };
}

/** A copy of an access with another kubeconfig. */
export const withKubeconfig = (access: Access, kubeconfig: pulumi.Output<string>): Access => ({
  ...access,
  secrets: { ...access.secrets, kubeconfig: fittingText("kubeconfig", kubeconfig) },
});

/**
 * Returns the credential's text unchanged if its client certificate is valid now. The checks of the arguments can read
 * only plain text, so this function checks a credential that is an Output.
 *
 * @throws RunError if the certificate is not valid now: Pulumi prints a RunError without a stack trace.
 */
export function unlessExpired(name: Credential, text: string): string {
  const [expired] = expiredCredentials({ [name]: text }, new Date());
  if (expired === undefined) return text;
  throw refusal(renderFinding(expired));
}

/** A secret in the form that fits the machine program's environment. */
const fittingText = (name: Credential, text: pulumi.Input<string>): pulumi.Output<string> =>
  pulumi.secret(text).apply((value) => fittingCredential(name, value));

function once<T>(make: () => T): () => T {
  let memory: { value: T } | undefined;
  return () => (memory ??= { value: make() }).value;
}

/** Creates a value for each key, once. */
function onceEach<T>(): (key: string, make: () => T) => T {
  const memory = new Map<string, { value: T }>();
  return (key, make) => {
    const existing = memory.get(key) ?? { value: make() };
    memory.set(key, existing);
    return existing.value;
  };
}
