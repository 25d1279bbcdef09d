import { parse, stringify } from "yaml";
import type { Properties } from "../provider";

// A secrets bundle has two spellings: the file of `talosctl gen secrets`, and the provider's `machineSecrets`.
// Source: terraform-provider-talos v0.11.0, pkg/talos/util.go.

/** Names in the file, by their path in `machineSecrets`. */
const names: readonly (readonly [property: string, file: string])[] = [
  ["cluster.id", "cluster.id"],
  ["cluster.secret", "cluster.secret"],
  ["secrets.bootstrapToken", "secrets.bootstraptoken"],
  ["secrets.secretboxEncryptionSecret", "secrets.secretboxencryptionsecret"],
  ["secrets.aescbcEncryptionSecret", "secrets.aescbcencryptionsecret"],
  ["trustdinfo.token", "trustdinfo.token"],
  ["certs.etcd.cert", "certs.etcd.crt"],
  ["certs.etcd.key", "certs.etcd.key"],
  ["certs.k8s.cert", "certs.k8s.crt"],
  ["certs.k8s.key", "certs.k8s.key"],
  ["certs.k8sAggregator.cert", "certs.k8saggregator.crt"],
  ["certs.k8sAggregator.key", "certs.k8saggregator.key"],
  ["certs.k8sServiceaccount.key", "certs.k8sserviceaccount.key"],
  ["certs.os.cert", "certs.os.crt"],
  ["certs.os.key", "certs.os.key"],
];

/** What the schema calls secret: all but certificates and the cluster's ID. */
const open = /^cluster\.id$|\.cert$/;

/** Reads the file into `machineSecrets`; `hide` wraps what is secret. What the file does not have is left out. */
export function readBundle(file: string, hide: (value: unknown) => unknown = (value) => value): Properties {
  const from = parse(file) as Properties;
  const result: Properties = {};
  for (const [property, name] of names) {
    const value = get(from, name);
    if (value !== undefined) set(result, property, open.test(property) ? value : hide(value));
  }
  return result;
}

/** Writes `machineSecrets` as the file that `--with-secrets` takes. */
export function writeBundle(machineSecrets: Properties): string {
  const result: Properties = {};
  for (const [property, name] of names) {
    const value = get(machineSecrets, property);
    if (value !== undefined && value !== "") set(result, name, value);
  }
  return stringify(result);
}

function get(from: unknown, at: string): unknown {
  return at.split(".").reduce<unknown>((value, key) => (value as Properties | undefined)?.[key], from);
}

function set(into: Properties, at: string, value: unknown): void {
  const keys = at.split(".");
  const last = keys.pop() ?? "";
  const parent = keys.reduce<Properties>((map, key) => (map[key] ??= {}) as Properties, into);
  parent[last] = value;
}
