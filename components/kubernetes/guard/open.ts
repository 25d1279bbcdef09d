import { createRequire } from "node:module";
import * as path from "node:path";
import { packageRoot } from "../../pulumi/package-root";
import type { ClusterObjects } from "./live";

/** Objects of a cluster (`clusterObjects`). Their client is bundled with them into a file of its own, which no program loads that asks nothing. */
export function openCluster(kubeconfig: string, persists = false): ClusterObjects {
  const file = path.join(packageRoot(), "bin/cluster-objects.js");
  return (createRequire(file)(file) as { clusterObjects: typeof openCluster }).clusterObjects(
    kubeconfig,
    persists,
  );
}
