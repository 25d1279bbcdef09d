import { allPatches, type Check } from "./check";
import { isRecord } from "../machine/user-patches";

/** Fields of a machine configuration that hold secrets. Source: talos, pkg/machinery/config/types/v1alpha1, RedactSecrets. */
const secretPaths = [
  "machine.token",
  "machine.ca.key",
  "cluster.token",
  "cluster.secret",
  "cluster.ca.key",
  "cluster.aggregatorCA.key",
  "cluster.serviceAccount.key",
  "cluster.etcd.ca.key",
  "cluster.aescbcEncryptionSecret",
  "cluster.secretboxEncryptionSecret",
];

const secretKey =
  /^(password|passwd|passphrase|token|apikey|api_key|secretkey|secret_key|privatekey|private_key|authkey|auth_key|identitytoken)$/i;
const secretText =
  /-----BEGIN [A-Z ]*PRIVATE KEY-----|\b(TS_AUTHKEY|NETBIRD_SETUP_KEY|HF_TOKEN)=|\btskey-[a-z]+-|\bghp_[A-Za-z0-9]{20}|\bhf_[A-Za-z0-9]{20}/;

export const patchSecret: Check = {
  id: "patch-secret",
  source:
    "talos, RedactSecrets; patches stand in plain text in the stack file, in Pulumi's state and in command lines of `talosctl`",
  find: (context) =>
    allPatches(context).flatMap(({ patch }) => {
      const path = secretIn(patch.config, "");
      if (path === undefined) return [];
      return [
        {
          field: patch.field,
          problem: `holds a secret (${path})`,
          why: "patches are kept in plain text, in the stack file and in Pulumi's state",
          remedy:
            "leave it out: machine secrets come from the secret configuration talos-gpu:machineSecrets; others belong into a Kubernetes Secret",
        },
      ];
    }),
};

/** Path of the first secret; its value never leaves this function. */
function secretIn(value: unknown, path: string): string | undefined {
  if (typeof value === "string")
    return secretText.test(value) || (value !== "" && secretPaths.includes(path)) ? path : undefined;
  const entries: [string, unknown][] = Array.isArray(value)
    ? value.map((item, index) => [`[${index}]`, item])
    : isRecord(value)
      ? Object.entries(value).map(([key, child]) => [`${path === "" ? "" : "."}${key}`, child])
      : [];
  for (const [step, child] of entries) {
    const here = `${path}${step}`;
    if (typeof child === "string" && child !== "" && secretKey.test(step.replace(/^\./, ""))) return here;
    const found = secretIn(child, here);
    if (found !== undefined) return found;
  }
  return undefined;
}
