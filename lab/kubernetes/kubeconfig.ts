import { existsSync, readFileSync } from "node:fs";
import { parse } from "yaml";

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** How to reach and authenticate to one API server. */
export interface Access {
  /** Base URL, e.g. `https://127.0.0.1:6443`. */
  readonly server: string;
  /** Namespace of objects that name none. */
  readonly namespace: string;
  /** PEM of the authority that signs the server's certificate. Default: the system's. */
  readonly ca?: string;
  /** PEM of the client's certificate and key. */
  readonly cert?: string;
  readonly key?: string;
  /** Bearer token. */
  readonly token?: string;
}

/**
 * Reads a kubeconfig: contents (YAML or JSON) or the path of a file, with a certificate or a token in it.
 *
 * Read by hand rather than by `@kubernetes/client-node`, which is an ES module and does not load everywhere this does.
 *
 * Error: what is missing, naming the entry.
 */
export function readKubeconfig(contentsOrPath: string): Access {
  const content = isPath(contentsOrPath) ? readFileSync(contentsOrPath, "utf8") : contentsOrPath;
  const config: unknown = parse(content);
  if (!isMap(config)) throw new Error("kubeconfig: neither YAML or JSON with a map inside, nor the path of a file");
  const chosen = text(config["current-context"]);
  const { cluster: clusterName, user: userName, namespace } = named(config["contexts"], chosen, "context", "context");
  const cluster = named(config["clusters"], text(clusterName), "cluster", "cluster");
  const user = userName === undefined ? {} : named(config["users"], text(userName), "user", "user");
  if (typeof cluster["server"] !== "string") throw new Error(`kubeconfig: cluster ${text(clusterName)} has no server`);
  return {
    server: cluster["server"].replace(/\/$/, ""),
    namespace: typeof namespace === "string" && namespace !== "" ? namespace : "default",
    ...present("ca", pem(cluster, "certificate-authority")),
    ...present("cert", pem(user, "client-certificate")),
    ...present("key", pem(user, "client-key")),
    ...present("token", typeof user["token"] === "string" ? user["token"] : undefined),
  };
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

const isPath = (value: string): boolean => !value.includes("\n") && !value.startsWith("{") && existsSync(value);

const present = <Name extends string>(name: Name, value: string | undefined): Partial<Record<Name, string>> =>
  value === undefined ? {} : ({ [name]: value } as Record<Name, string>);

function named(list: unknown, name: string, key: string, kind: string): Record<string, unknown> {
  const entry = Array.isArray(list) ? list.find((item) => isMap(item) && item["name"] === name) : undefined;
  if (!isMap(entry) || !isMap(entry[key])) throw new Error(`kubeconfig: no ${kind} named "${name}"`);
  return entry[key];
}

function pem(from: Record<string, unknown>, key: string): string | undefined {
  const [data, file] = [from[`${key}-data`], from[key]];
  if (typeof data === "string") return Buffer.from(data, "base64").toString("utf8");
  return typeof file === "string" ? readFileSync(file, "utf8") : undefined;
}
