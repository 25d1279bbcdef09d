import { createRequire } from "node:module";
import * as path from "node:path";
import { packageRoot } from "../../pulumi/package-root";
import type { ClusterObjects } from "./live";

/**
 * The guard's calls to a cluster (`clusterObjects`). They are in a separate bundle with the Kubernetes client, which a
 * program without such calls never loads.
 */
export function openCluster(kubeconfig: string, persists = false): ClusterObjects {
  const file = path.join(packageRoot(), "bin/cluster-objects.js");
  return (createRequire(file)(file) as { clusterObjects: typeof openCluster }).clusterObjects(
    kubeconfig,
    persists,
  );
}
