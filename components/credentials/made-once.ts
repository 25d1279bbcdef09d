import * as pulumi from "@pulumi/pulumi";
import { encryptionPatchesOf, machineSecretsOf, talosClientOf } from "./texts";

// What every machine of a cluster makes of the same credentials, made once: with a thousand machines the outputs
// themselves, each of several promises, cost more than what is computed in them.

/** A credential as a secret. */
export const secretOf = perOutput((text) => text);

/** Client of the machine API from a talosconfig. Its endpoints alone are not secret. */
export const clientOf = perOutput((talosconfig) => {
  const client = talosconfig.apply(talosClientOf);
  return { configuration: client.configuration, endpoints: pulumi.unsecret(client.endpoints) };
});

/** Secrets of the cluster, as the provider takes them, from the text of `talosctl gen secrets`. */
export const clusterSecretsOf = perOutput((machineSecrets) => machineSecrets.apply(machineSecretsOf));

/** Patches that give a control plane what a configuration generated from these secrets lacks. */
export const encryptionPatches = perOutput((machineSecrets) =>
  machineSecrets.apply((text) => encryptionPatchesOf(machineSecretsOf(text))),
);

/** The same result for the same output; for a plain text a new one every time. What is computed on is secret. */
function perOutput<T>(compute: (secret: pulumi.Output<string>) => T): (text: pulumi.Input<string>) => T {
  const results = new WeakMap<object, T>();
  return (text) => {
    if (!pulumi.Output.isInstance(text)) return compute(pulumi.secret(text));
    if (!results.has(text)) results.set(text, compute(pulumi.secret(text)));
    return results.get(text)!;
  };
}
