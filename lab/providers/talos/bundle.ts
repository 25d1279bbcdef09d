import { Document, parseDocument } from "yaml";
import type { Properties } from "../provider";

// A secrets bundle has two spellings: the file of `talosctl gen secrets`, and the provider's `machineSecrets`.
// Source: terraform-provider-talos v0.11.0, pkg/talos/util.go.

/** Values by their path in `machineSecrets`. */
const values = [
  ...["cluster.id", "cluster.secret", "trustdinfo.token"],
  ...["bootstrapToken", "secretboxEncryptionSecret", "aescbcEncryptionSecret"].map((name) => `secrets.${name}`),
  ...["etcd", "k8s", "k8sAggregator", "k8sServiceaccount", "os"].flatMap((name) => [
    `certs.${name}.cert`,
    `certs.${name}.key`,
  ]),
].map((path) => path.split("."));

/** Those that the schema calls secret: all but certificates and the cluster's ID. */
export const secretValues = values.filter((path) => !/^cluster\.id$|\.cert$/.test(path.join(".")));

/** In the file. */
const inFile = (path: readonly string[]): string[] =>
  path.map((name) => (name === "cert" ? "crt" : name.toLowerCase()));

/** Reads the file into `machineSecrets`. What the file does not have is left out. */
export function readBundle(file: string): Properties {
  return taken(parseDocument(file), inFile, (path) => path).toJS() as Properties;
}

/** Writes `machineSecrets` as the file that `--with-secrets` takes. */
export function writeBundle(machineSecrets: Properties): string {
  return taken(new Document(machineSecrets), (path) => path, inFile).toString();
}

type Spelling = (path: readonly string[]) => readonly string[];

function taken(from: Document.Parsed | Document, was: Spelling, is: Spelling): Document {
  const into = new Document({});
  for (const path of values) {
    const value = from.getIn(was(path));
    if (value !== undefined && value !== "") into.setIn(is(path), value);
  }
  return into;
}
