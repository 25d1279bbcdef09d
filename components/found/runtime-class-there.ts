import * as fs from "node:fs";
import { createRequire } from "node:module";
import * as path from "node:path";
import type { ClusterObjects } from "../kubernetes/guard/live";
import { MANAGER } from "../clients/kubernetes/manager";
import { packageRoot } from "../package-root";
import { isMapping } from "../recipe/mapping";

/** What of a stack decides whether its cluster is asked for a RuntimeClass. */
export interface MakingClass {
  devicePlugin?: unknown;
  bootstrap?: unknown;
  kubeconfig?: unknown;
}

/** Objects of the cluster of a kubeconfig. */
type Open = (kubeconfig: string) => Pick<ClusterObjects, "read">;

/** Milliseconds within which the cluster answers: every preview waits for it, also one without its cluster. */
const PATIENCE = 5_000;

/**
 * A stack's `devicePlugin` with what its cluster says of the RuntimeClass `nvidia`: one of somebody else's that has the right handler
 * is taken as it is (`makeRuntimeClass: false`). Asks only where the stack would make one. Never fails: without an answer the stack
 * makes its own, which a later step refuses where there is one.
 */
export async function withClassThere(
  { devicePlugin, bootstrap, kubeconfig }: MakingClass,
  open: Open = clusterObjects,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Pick<MakingClass, "devicePlugin">> {
  if (!isMapping(devicePlugin) || devicePlugin["makeRuntimeClass"] !== undefined || bootstrap === true) return {};
  const file = environment["KUBECONFIG"] ?? "";
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), PATIENCE)));
  try {
    const text = typeof kubeconfig === "string" ? kubeconfig : file === "" ? "" : fs.readFileSync(file, "utf8");
    if (text === "") return {};
    const key = { apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", name: "nvidia" };
    const found = await Promise.race([open(text).read(key), late]);
    if (found?.object === undefined || found.owner !== undefined || found.object.handler !== "nvidia") return {};
    const { ownerReferences = [], managedFields = [] } = found.object.metadata ?? {};
    // The operator's goes with the operator. One that Pulumi made may be of a release of this package that set no mark.
    const others = managedFields.every(({ manager = "" }) => manager !== MANAGER && !manager.startsWith("pulumi"));
    return ownerReferences.length === 0 && others ? { devicePlugin: { ...devicePlugin, makeRuntimeClass: false } } : {};
  } catch {
    return {};
  } finally {
    clearTimeout(timer);
  }
}

/** Bundled with its client into a file of its own. */
function clusterObjects(kubeconfig: string): Pick<ClusterObjects, "read"> {
  const file = path.join(packageRoot(), "bin/cluster-objects.js");
  return (createRequire(file)(file) as { clusterObjects: (text: string) => ClusterObjects }).clusterObjects(kubeconfig);
}
