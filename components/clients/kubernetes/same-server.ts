import * as fs from "node:fs";
import { parse } from "yaml";
import { listAt, valueAt } from "../../recipe/mapping";

/** What a kubeconfig says of the cluster of a context. */
export interface NamedCluster {
  /** URL without a slash at its end; empty where it has none. */
  server: string;
  /** The certificate authority, as its text or its file has it; empty where it has none. */
  authority: string;
}

/**
 * The cluster that a kubeconfig leads to.
 *
 * @param context its name. Default: the current one.
 * @returns undefined where the text names none.
 */
export function clusterNamedBy(text: string, context?: string): NamedCluster | undefined {
  try {
    const config: unknown = parse(text, { merge: true });
    const of = (list: string, name: unknown): unknown => listAt(config, list).find((one) => one["name"] === name);
    const used = of("contexts", context ?? valueAt(config, "current-context"));
    const cluster = valueAt(of("clusters", valueAt(used, "context", "cluster")), "cluster");
    const server = valueAt(cluster, "server");
    if (typeof server !== "string") return undefined;
    return { server: server.replace(/\/$/, ""), authority: authorityOf(cluster) };
  } catch {
    return undefined;
  }
}

function authorityOf(cluster: unknown): string {
  const [data, file] = [valueAt(cluster, "certificate-authority-data"), valueAt(cluster, "certificate-authority")];
  if (typeof data === "string" && data !== "") return Buffer.from(data, "base64").toString().trim();
  return typeof file === "string" ? fs.readFileSync(file, "utf8").trim() : "";
}

/** Whether two are evidently one: by the server's URL, or by the authority, which each cluster has for itself. */
export const isSameCluster = (one: NamedCluster, other: NamedCluster): boolean =>
  one.server === other.server || (one.authority !== "" && one.authority === other.authority);
