import * as pulumi from "@pulumi/pulumi";
import { refusal } from "../pulumi/checked-arguments";
import { renderFinding } from "../recipe";
import { fittingCredential } from "./fitting-credential";
import { outOfForce, splitCredentials, type Credential, type Credentials } from "./credentials";
import { encryptionPatchesOf, machineSecretsOf, talosClientOf } from "./texts";

/** Contents of credentials, each a secret. */
export type Secrets = { readonly [name in Credential]?: pulumi.Output<string> };

/** Access to a cluster. */
export type Access = ReturnType<typeof accessOf>;

/**
 * The given credentials of a cluster, and what is derived from them for its machines. Each is made once for all
 * machines: a Pulumi output costs several promises, more than the computation in it. A credential that is not given
 * is an empty text.
 */
export function accessOf(given: Credentials) {
  const texts = Object.entries(splitCredentials(given).given) as [
    Credential,
    pulumi.Input<string>,
  ][];
  const secrets: Secrets = Object.fromEntries(
    texts.map(([name, text]) => [
      name,
      fitting(
        name,
        pulumi.output(text).apply((known) => inForce(name, known)),
      ),
    ]),
  );
  const textOf = (name: Credential): pulumi.Output<string> => secrets[name] ?? pulumi.secret("");
  return {
    secrets,
    /** Client of the machine API. Its endpoints alone are not secret. */
    client: once(() => {
      const client = textOf("talosconfig").apply(talosClientOf);
      return { configuration: client.configuration, endpoints: pulumi.unsecret(client.endpoints) };
    }),
    /** Secrets of the cluster, as the provider takes them. */
    clusterSecrets: once(() => textOf("machineSecrets").apply(machineSecretsOf)),
    /**
     * A configuration that is generated from these secrets, together with the other arguments: alike machines have
     * one.
     */
    generated: onceEach<pulumi.Output<string>>(),
    /** Patches that give a control plane what a configuration generated from these secrets lacks. */
    encryptionPatches: once(() =>
      textOf("machineSecrets").apply((text) => encryptionPatchesOf(machineSecretsOf(text))),
    ),
  };
}

/** Copies an access and replaces its kubeconfig. */
export const withKubeconfig = (access: Access, kubeconfig: pulumi.Output<string>): Access => ({
  ...access,
  secrets: { ...access.secrets, kubeconfig: fitting("kubeconfig", kubeconfig) },
});

/**
 * A given credential whose client certificate is in force. The checks of the arguments see that only where it is
 * plain text, and not an Output.
 *
 * @throws RunError where it is not in force: a RunError is printed as its message, without a stack trace.
 */
export function inForce(name: Credential, text: string): string {
  const [late] = outOfForce({ [name]: text }, new Date());
  if (late === undefined) return text;
  throw refusal(renderFinding(late));
}

/** A secret as the machine program can get it. */
const fitting = (name: Credential, text: pulumi.Input<string>): pulumi.Output<string> =>
  pulumi.secret(text).apply((known) => fittingCredential(name, known));

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** Makes what belongs to each key once. */
function onceEach<T>(): (key: string, make: () => T) => T {
  const made = new Map<string, { value: T }>();
  return (key, make) => {
    const known = made.get(key) ?? { value: make() };
    made.set(key, known);
    return known.value;
  };
}
