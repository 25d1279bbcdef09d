import { createRequire } from "node:module";
import * as path from "node:path";
import { packageRoot } from "../../pulumi/package-root";
import type { ClusterObjects } from "./live";

/**
 * The guard's calls to a cluster (`clusterObjects`). The bundle with these calls and the Kubernetes client is loaded
 * only here, so a program that makes no such call does not load it.
 */
export function openCluster(kubeconfig: string, persists = false): ClusterObjects {
  const file = path.join(packageRoot(), "bin/cluster-objects.js");
  return (createRequire(file)(file) as { clusterObjects: typeof openCluster }).clusterObjects(
    kubeconfig,
    persists,
  );
}
