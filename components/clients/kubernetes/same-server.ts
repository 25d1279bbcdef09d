import { boundedYaml } from "../../recipe/rules/yaml";
import { valueAt } from "../../recipe/mapping";
import { certificateIn, entryOf } from "../kubeconfig-entry";

/** Fields of a kubeconfig about the cluster of a context. */
export interface NamedCluster {
  /** URL of the API server, without a slash at its end. */
  server: string;
  /** The certificate authority, from its inline text or its file; empty if there is none. */
  authority: string;
}

/**
 * The cluster of a context in a kubeconfig.
 *
 * @param context name of the context. Default: the current one.
 * @returns undefined if the text names no cluster.
 */
export function clusterNamedBy(text: string, context?: string): NamedCluster | undefined {
  try {
    const config: unknown = boundedYaml(text);
    const used = entryOf(config, "contexts", context ?? valueAt(config, "current-context"));
    const cluster = valueAt(
      entryOf(config, "clusters", valueAt(used, "context", "cluster")),
      "cluster",
    );
    const server = valueAt(cluster, "server");
    if (typeof server !== "string") return undefined;
    return {
      server: server.replace(/\/$/, ""),
      authority: certificateIn(cluster, "certificate-authority")?.trim() ?? "",
    };
  } catch {
    return undefined;
  }
}

/** Whether two clusters are certainly the same: they have the same server URL, or the same certificate authority. */
export const isSameCluster = (a: NamedCluster, b: NamedCluster): boolean =>
  a.server === b.server || (a.authority !== "" && a.authority === b.authority);
