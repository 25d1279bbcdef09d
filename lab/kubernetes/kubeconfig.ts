import { readFileSync } from "node:fs";
import { parse } from "yaml";

/** How to reach and authenticate to a lab's API server. */
interface Access {
  readonly server: string;
  /** PEM of the authority that signs the server's certificate. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

type Entry = Record<string, string>;
type NamedEntry = Record<string, Entry> & { name: string };

/** Cluster, by its name, and user of a kubeconfig's current context; certificates are base64 of their PEM. */
export function currentOf(text: string): { name: string; cluster: Entry; user: Entry } {
  const config = parse(text) as Record<string, NamedEntry[]>;
  const entryOf = (list: string, name: unknown, part: string): Entry =>
    config[list]!.find((entry) => entry.name === name)![part]!;
  const { cluster, user } = entryOf("contexts", config["current-context"], "context");
  return {
    name: cluster!,
    cluster: entryOf("clusters", cluster, "cluster"),
    user: entryOf("users", user, "user"),
  };
}

/**
 * Reads a lab's kubeconfig, which contains its certificates. It does not use the Kubernetes client, which is only an ES
 * module, and jest cannot load that into a test's process.
 */
export function readKubeconfig(file: string): Access {
  const { cluster, user } = currentOf(readFileSync(file, "utf8"));
  const pem = (data: string | undefined): string => Buffer.from(data!, "base64").toString("utf8");
  return {
    server: cluster["server"]!,
    ca: pem(cluster["certificate-authority-data"]),
    cert: pem(user["client-certificate-data"]),
    key: pem(user["client-key-data"]),
  };
}
