import { boundedYaml } from "../../recipe/rules/yaml";
import { valueAt } from "../../recipe/mapping";
import { certificateIn, entryOf } from "../kubeconfig-entry";

/** Fields of a kubeconfig about the cluster of a context. */
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

/** Whether two are evidently one: by the server's URL, or by the authority, which each cluster has for itself. */
export const isSameCluster = (one: NamedCluster, other: NamedCluster): boolean =>
  one.server === other.server || (one.authority !== "" && one.authority === other.authority);
