import { readFileSync } from "node:fs";
import { parse } from "yaml";

/** How to reach and authenticate to a lab's API server. */
export interface Access {
  readonly server: string;
  /** PEM of the authority that signs the server's certificate. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

type Named = Record<string, Record<string, string>> & { name: string };

/**
 * Reads a lab's own kubeconfig: contents (YAML or JSON) or the path of a file, with the certificates in it.
 *
 * Read by hand rather than by `@kubernetes/client-node`, which is an ES module and does not load everywhere this does.
 */
export function readKubeconfig(contentsOrPath: string): Access {
  const isText = contentsOrPath.includes("\n") || contentsOrPath.startsWith("{");
  const config = parse(isText ? contentsOrPath : readFileSync(contentsOrPath, "utf8")) as Record<string, Named[]>;
  const named = (list: string, name: unknown, part: string): Record<string, string> =>
    config[list]!.find((each) => each.name === name)![part]!;
  const context = named("contexts", config["current-context"], "context");
  const cluster = named("clusters", context["cluster"], "cluster");
  const user = named("users", context["user"], "user");
  const pem = (data: string | undefined): string => Buffer.from(data!, "base64").toString("utf8");
  return {
    server: cluster["server"]!,
    ca: pem(cluster["certificate-authority-data"]),
    cert: pem(user["client-certificate-data"]),
    key: pem(user["client-key-data"]),
  };
}
